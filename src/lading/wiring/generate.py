"""Writes the files that follow from the features: `python -m lading.wiring.generate REPOSITORY`.

`files` is what they must contain; a test compares it with what is there.
"""

import sys
from pathlib import Path

from lading.api import manifests
from lading.api.definitions import Definition
from lading.api.rbac import AGENT_NAMESPACE, NAMESPACE
from lading.installation import (
    agent_policies,
    boot_image_policies,
    controller_policies,
    policies,
)
from lading.loop.feature import Feature
from lading.wiring import (
    generate_chart,
    generate_docs,
    generate_kinds,
    generate_monitoring,
    generate_rbac,
    generate_reasons,
)
from lading.wiring.features import FEATURES, definitions_of

_KUSTOMIZATION = """\
# Generated from the features by `make generate`; do not edit.
# Everything, for nodes with containerd: kubectl apply --server-side -k deploy
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{definitions}  - containerd
"""


_PAGE = Path("docs/features.md")
_REASONS_PAGE = Path("docs/reasons.md")


def files(repository: Path, features: tuple[Feature, ...] = FEATURES) -> dict[Path, str]:
    """The content of each generated file, by its path in the repository."""
    definitions = definitions_of(features)
    page = (repository / _PAGE).read_text(encoding="utf-8")
    reasons = (repository / _REASONS_PAGE).read_text(encoding="utf-8")
    installed = {**generate_rbac.files(features), **_policies()}
    return {
        **{Path("deploy", _file(one)): manifests.as_yaml(one) for one in definitions},
        Path("deploy/kustomization.yaml"): _KUSTOMIZATION.format(
            definitions="".join(sorted(f"  - {_file(one)}\n" for one in definitions))
        ),
        **installed,
        **generate_chart.files(repository, features, installed),
        _PAGE: generate_docs.with_tables(page, features),
        _REASONS_PAGE: generate_reasons.with_tables(reasons),
        Path("docs/kinds.md"): generate_kinds.page(definitions),
        **generate_monitoring.files(repository),
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
        "policies/boot-images/policy.yaml": boot_image_policies.boot_image_policies(
            namespace=NAMESPACE, account=account
        ),
    }
    return {Path("deploy", name): policies.as_yaml(each) for name, each in made.items()}


def _file(definition: Definition) -> str:
    return f"crds/{definition.name}.yaml"


def write(repository: Path) -> None:
    for path, content in files(repository).items():
        file = repository / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
