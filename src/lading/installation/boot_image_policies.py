"""The admission policies of managed boot images, for a namespace and an account. Pure.

The controller writes managed copies of stubs and clones of templates. RBAC cannot restrict that by
the end of a name or by a label. Like the other policies they refuse an account under other names.
"""

from lading.api.definitions import OWNER, OWNER_LABEL
from lading.boot_images.types import CLONED_KINDS, STUB_SUFFIX
from lading.installation import policies
from lading.installation.policies import Document

_WRITES = ["CREATE", "UPDATE"]


def boot_image_policies(*, namespace: str, account: str) -> list[Document]:
    """Each policy with its binding."""
    secrets = {
        "apiGroups": [""],
        "apiVersions": ["*"],
        "operations": _WRITES,
        "resources": ["secrets"],
    }
    templates = {
        "apiGroups": ["infrastructure.cluster.x-k8s.io"],
        "apiVersions": ["*"],
        "operations": [*_WRITES, "DELETE"],
        "resources": [f"{kind.lower()}s" for kind in CLONED_KINDS],
    }
    names = {"namespace": namespace, "account": account}
    return policies.with_bindings(
        [
            policies.policy_for(
                "lading-controller-managed-stubs", [secrets], _managed_stubs(), **names
            ),
            policies.policy_for(
                "lading-controller-cloned-templates", [templates], _cloned_templates(), **names
            ),
        ]
    )


def _managed_stubs() -> list[Document]:
    return [
        {
            "expression": f'object.metadata.name.endsWith("{STUB_SUFFIX}")',
            "message": (
                f"the controller must write only Secrets with a name that ends with {STUB_SUFFIX}"
            ),
        },
        {
            "expression": f'request.operation == "CREATE" || {_is_ours("oldObject")}',
            "message": "the controller must change only Secrets that it created",
        },
    ]


def _cloned_templates() -> list[Document]:
    template = '(request.operation == "CREATE" ? object : oldObject)'
    return [
        {
            "expression": _is_ours(template),
            "message": "the controller must write and delete only templates that it created",
        },
        {
            "expression": 'request.operation != "UPDATE" || object.spec == oldObject.spec',
            "message": "the controller must not change the content of a template",
        },
    ]


def _is_ours(one: str) -> str:
    return f'{one}.metadata.?labels[?"{OWNER_LABEL}"].orValue("") == "{OWNER}"'
