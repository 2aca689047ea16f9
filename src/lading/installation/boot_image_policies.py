"""The admission policies of managed boot images, for a namespace and an account. Pure.

The controller writes managed copies of stubs and clones of templates. RBAC cannot restrict that by
the end of a name or by a label.
"""

from lading.api.definitions import OWNER, OWNER_LABEL
from lading.boot_images.types import CLONED_KINDS, STUB_SUFFIX
from lading.installation import policies
from lading.installation.policies import WRITES, AdmissionPolicy, AdmissionRule, Check, Document


def boot_image_policies(*, namespace: str, account: str) -> list[Document]:
    """Each policy with its binding."""
    made = (_managed_stubs(namespace), _cloned_templates())
    return policies.documents(made, namespace=namespace, account=account)


def _managed_stubs(namespace: str) -> AdmissionPolicy:
    """The policy lading-controller-secrets has the checks of every Secret of the controller."""
    return AdmissionPolicy(
        name="lading-controller-managed-stubs",
        rules=(AdmissionRule(group="", version="v1", resources=("secrets",), operations=WRITES),),
        checks=(
            Check(
                expression=(
                    f'request.namespace == "{namespace}"'
                    f' || object.metadata.name.endsWith("{STUB_SUFFIX}")'
                ),
                message=(
                    "the controller must write only Secrets with a name that ends with"
                    f" {STUB_SUFFIX}"
                ),
            ),
            Check(
                expression=f'request.operation == "CREATE" || {_is_ours("oldObject")}',
                message="the controller must change only Secrets that it created",
            ),
        ),
    )


def _cloned_templates() -> AdmissionPolicy:
    template = '(request.operation == "CREATE" ? object : oldObject)'
    return AdmissionPolicy(
        name="lading-controller-cloned-templates",
        rules=(
            AdmissionRule(
                group="infrastructure.cluster.x-k8s.io",
                resources=tuple(f"{kind.lower()}s" for kind in CLONED_KINDS),
            ),
        ),
        checks=(
            Check(
                expression=_is_ours(template),
                message="the controller must write and delete only templates that it created",
            ),
            Check(
                expression='request.operation != "UPDATE" || object.spec == oldObject.spec',
                message="the controller must not change the content of a template",
            ),
        ),
    )


def _is_ours(one: str) -> str:
    return policies.label_is(one, OWNER_LABEL, OWNER)
