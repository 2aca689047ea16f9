"""Pod templates as the server fills them."""

from tests.conformance.kube.api import DAEMON_SETS, Api, Document
from tests.conformance.kube.workloads import daemon_set


async def filled(api: Api, namespace: str, **spec: object) -> Document:
    """The spec of a pod template after it was stored."""
    body = daemon_set()
    body["spec"]["template"]["spec"] |= spec
    created = await api.client.create(DAEMON_SETS, body, namespace=namespace)
    found: Document = created["spec"]["template"]["spec"]
    return found
