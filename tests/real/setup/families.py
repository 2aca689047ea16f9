"""What is built from Go modules: which binaries, from which module, with which flags.

Versions are not here: they are pinned in modules/<family>/go.mod, with go.sum beside it.
This module only describes; build.py builds and binaries.py finds.
"""

import dataclasses
import pathlib
import re
from collections.abc import Iterable

MODULES = pathlib.Path(__file__).parent.parent / "modules"

KUBERNETES_VERSION_VARIABLES = (
    "k8s.io/component-base/version.gitVersion={version}",
    "k8s.io/component-base/version.gitMajor={major}",
    "k8s.io/component-base/version.gitMinor={minor}",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    name: str
    package: str
    is_test: bool = False
    """The program is in the package's test files, so that `go test -c` makes it."""
    c_sources: str = ""
    """A folder of C files inside the module: the program is compiled from them, not from Go."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    name: str
    component: str
    """The word that selects it: `python3 -m tests.real.setup --only WORD`."""
    module: str
    binaries: tuple[Binary, ...]
    cgo: bool = False
    tags: tuple[str, ...] = ()
    version_variables: tuple[str, ...] = ()

    @property
    def folder(self) -> pathlib.Path:
        return MODULES / self.name

    @property
    def version(self) -> str:
        """The pinned version of the family's module, such as v1.36.3."""
        pinned = re.search(
            rf"^(?:require|\t)\s*{re.escape(self.module)} (v\S+)",
            (self.folder / "go.mod").read_text(),
            re.MULTILINE,
        )
        assert pinned, f"{self.folder / 'go.mod'} does not require {self.module}"
        return pinned[1]

    @property
    def go_version(self) -> tuple[int, ...]:
        """The oldest Go that the module accepts."""
        line = re.search(r"^go (\S+)", (self.folder / "go.mod").read_text(), re.MULTILINE)
        assert line, f"{self.folder / 'go.mod'} has no go line"
        return tuple(int(part) for part in line[1].split("."))

    def build_flags(self) -> tuple[str, ...]:
        version = self.version
        major, minor, _patch = version.removeprefix("v").split(".")
        variables = " ".join(
            "-X " + variable.format(version=version, major=major, minor=minor)
            for variable in self.version_variables
        )
        tags = ("-tags", ",".join(self.tags)) if self.tags else ()
        return ("-trimpath", "-ldflags", f"-s -w {variables}".strip(), *tags)


def _commands(module: str, *names: str) -> tuple[Binary, ...]:
    return tuple(Binary(name=name, package=f"{module}/cmd/{name}") for name in names)


FAMILIES = (
    Family(
        name="etcd",
        component="kube",
        module="go.etcd.io/etcd/server/v3",
        binaries=(Binary(name="etcd", package="go.etcd.io/etcd/server/v3"),),
    ),
    Family(
        name="kubernetes",
        component="kube",
        module="k8s.io/kubernetes",
        binaries=_commands(
            "k8s.io/kubernetes",
            "kube-apiserver",
            "kubectl",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
        ),
        version_variables=KUBERNETES_VERSION_VARIABLES,
    ),
    Family(
        name="helm",
        component="helm",
        module="helm.sh/helm/v3",
        binaries=_commands("helm.sh/helm/v3", "helm"),
        # What `helm template` takes for the version of the cluster, as in releases of Helm.
        version_variables=(
            "helm.sh/helm/v3/internal/version.version={version}",
            "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1",
            "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36",
        ),
    ),
    Family(
        name="distribution",
        component="registry",
        module="github.com/distribution/distribution/v3",
        binaries=_commands("github.com/distribution/distribution/v3", "registry"),
        version_variables=("github.com/distribution/distribution/v3/version.version={version}",),
    ),
    Family(
        name="distribution-spec",
        component="registry",
        module="github.com/opencontainers/distribution-spec/conformance",
        binaries=(
            Binary(
                name="oci-conformance",
                package="github.com/opencontainers/distribution-spec/conformance",
                is_test=True,
            ),
        ),
    ),
    Family(
        name="versitygw",
        component="registry",
        module="github.com/versity/versitygw",
        binaries=_commands("github.com/versity/versitygw", "versitygw"),
    ),
    Family(
        name="containerd",
        component="containerd",
        module="github.com/containerd/containerd/v2",
        binaries=_commands(
            "github.com/containerd/containerd/v2", "containerd", "ctr", "containerd-shim-runc-v2"
        ),
        version_variables=("github.com/containerd/containerd/v2/version.Version={version}",),
    ),
    Family(
        name="containerd-1.7",
        component="containerd",
        module="github.com/containerd/containerd",
        binaries=_commands(
            "github.com/containerd/containerd", "containerd", "ctr", "containerd-shim-runc-v2"
        ),
        cgo=True,
        version_variables=("github.com/containerd/containerd/version.Version={version}",),
    ),
    Family(
        name="cri-tools",
        component="cri-tools",
        module="sigs.k8s.io/cri-tools",
        binaries=(
            Binary(name="crictl", package="sigs.k8s.io/cri-tools/cmd/crictl"),
            Binary(name="critest", package="sigs.k8s.io/cri-tools/cmd/critest", is_test=True),
        ),
        version_variables=("sigs.k8s.io/cri-tools/pkg/version.Version={version}",),
    ),
    Family(
        name="cri-o",
        component="cri-o",
        module="github.com/cri-o/cri-o",
        binaries=(
            Binary(name="crio", package="github.com/cri-o/cri-o/cmd/crio"),
            Binary(name="pinns", package="github.com/cri-o/cri-o", c_sources="pinns/src"),
        ),
        cgo=True,
        tags=(
            "containers_image_openpgp",
            "exclude_graphdriver_btrfs",
            "exclude_graphdriver_devicemapper",
            "libdm_no_deferred_remove",
        ),
    ),
    Family(
        name="ignition",
        component="ignition",
        module="github.com/coreos/ignition/v2",
        binaries=(
            Binary(name="ignition-validate", package="github.com/coreos/ignition/v2/validate"),
        ),
    ),
)

BASE_IMAGE = "image"
"""What building deploy/Containerfile needs: base_image.py makes it, and nothing of it is Go."""
COMPONENTS = (*dict.fromkeys(family.component for family in FAMILIES), BASE_IMAGE)
NEEDED_WITH = {
    "containerd": ("registry", "cri-tools"),
    "cri-o": ("registry", "cri-tools"),
}
"""A runtime is asked with crictl and pulls from a registry."""


def with_needed(components: Iterable[str]) -> frozenset[str]:
    """The components, and those without which they cannot be used."""
    chosen = frozenset(components)
    unknown = sorted(chosen.difference(COMPONENTS))
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: expected some of {', '.join(COMPONENTS)}")
    return chosen.union(*(NEEDED_WITH.get(component, ()) for component in chosen))
