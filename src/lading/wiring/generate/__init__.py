"""Generates the files that follow from the features; `make generate` writes them.

The files are CRDs, RBAC, admission policies, and tables of the documentation. A test compares them
with the repository. The Helm chart is written by hand and reads the same manifests (chart/files).
"""

from pathlib import Path

from lading.api.definitions import Definition, as_yaml
from lading.api.rbac import AGENT_NAMESPACE, NAMESPACE
from lading.installation import (
    agent_policies,
    boot_image_policies,
    controller_policies,
    policies,
)
from lading.loop.feature import Feature
from lading.wiring.features import FEATURES, definitions_of
from lading.wiring.generate import docs, kinds, rbac

_KUSTOMIZATION = """\
# Generated from the features by `make generate`; do not edit.
# Everything, for nodes with containerd: kubectl apply --server-side -k deploy
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{definitions}  - containerd
"""


def files(repository: Path, features: tuple[Feature, ...] = FEATURES) -> dict[Path, str]:
    """The content of each generated file, by its path in the repository."""
    definitions = definitions_of(features)
    return {
        **{Path("deploy", _file(one)): as_yaml(one) for one in definitions},
        Path("deploy/kustomization.yaml"): _KUSTOMIZATION.format(
            definitions="".join(
                sorted(f"  - {_file(one)}\n" for one in definitions if not one.shared_with)
            )
        ),
        **rbac.files(features),
        **_policies(),
        Path("docs/kinds.md"): kinds.page(definitions),
        **docs.files(repository, features),
    }


def _policies() -> dict[Path, str]:
    account = controller_policies.ACCOUNT
    made = {
        "base/agent-policy.yaml": agent_policies.agent_policies(
            namespace=AGENT_NAMESPACE, account=agent_policies.ACCOUNT
        ),
        "base/controller-policy.yaml": controller_policies.controller_policies(
            namespace=NAMESPACE, account=account
        ),
        "boot-images-policy/policy.yaml": boot_image_policies.boot_image_policies(
            namespace=NAMESPACE, account=account
        ),
    }
    return {rbac.FOLDER / name: policies.as_yaml(each) for name, each in made.items()}


def _file(definition: Definition) -> str:
    """A kind of another project too is not in the folder that is applied without a look."""
    project = definition.shared_with.lower()
    folder = f"optional/{project}-{definition.plural}" if project else "crds"
    return f"{folder}/{definition.name}.yaml"


def write(repository: Path) -> None:
    for path, content in files(repository).items():
        file = repository / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
