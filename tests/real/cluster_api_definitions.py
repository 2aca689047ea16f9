"""The CustomResourceDefinitions of Cluster API and its providers, as their modules hold them.

The Go module proxy delivers a module by name; its checksum is pinned here. Nothing is copied into
this repository.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    name: str
    version: str
    checksum: str
    files: tuple[str, ...]

    def paths(self) -> list[Path]:
        """The definitions on this machine, downloaded if they are not here yet."""
        answer = subprocess.run(
            ["go", "mod", "download", "-json", f"{self.name}@{self.version}"],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        )
        found = json.loads(answer.stdout)
        assert found["Sum"] == self.checksum, f"{self.name} is not what it was"
        return [Path(found["Dir"], one) for one in self.files]


MODULES = (
    Module(
        name="sigs.k8s.io/cluster-api",
        version="v1.14.2",
        checksum="h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=",
        files=("core/config/crd/bases/cluster.x-k8s.io_machinesets.yaml",),
    ),
    Module(
        name="sigs.k8s.io/cluster-api-provider-gcp",
        version="v1.13.1",
        checksum="h1:l4zdwsHFwcA8CP5P4NPar9fUu5kMwucKhp2IQBHduJs=",
        files=("config/crd/bases/infrastructure.cluster.x-k8s.io_gcpmachinetemplates.yaml",),
    ),
    Module(
        name="sigs.k8s.io/cluster-api-provider-aws/v2",
        version="v2.13.0",
        checksum="h1:yQz7GBrIkPLuEJ5MXNuZ/6eUssTJK8reUnZ6t5QIPnU=",
        files=("config/crd/bases/infrastructure.cluster.x-k8s.io_awsmachinetemplates.yaml",),
    ),
)
