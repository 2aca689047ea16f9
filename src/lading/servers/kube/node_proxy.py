"""`nodes/NAME/proxy/PATH`: hands a request on to the stand-in for the kubelet of that node.

Authentication comes before; the kubelet decides what the path means. A node without a
kubelet has no such path.
"""

from collections.abc import Mapping

from lading.kernel.values import replace
from lading.ports.http import Exchange, Request, Response

Kubelets = Mapping[str, Exchange]
"""By the names of their nodes; nodes may come and go while the server runs."""

NO_KUBELETS: Kubelets = {}


async def forwarded(request: Request, kubelets: Kubelets) -> Response | None:
    """The kubelet's answer, with its own path and without the caller's token; None if not asked."""
    match request.path.split("/", 6):
        case ["", "api", "v1", "nodes", name, "proxy", *rest] if name in kubelets:
            headers = {key: it for key, it in request.headers.items() if key != "authorization"}
            path = f"/{''.join(rest)}"
            return await kubelets[name](replace(request, path=path, headers=headers))
        case _:
            return None
