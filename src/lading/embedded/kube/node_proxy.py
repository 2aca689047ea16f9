"""`nodes/NAME/proxy/PATH`: forwards a request to the embedded kubelet of that node.

The core authenticates the request before. A node without a kubelet has no such path.
"""

from collections.abc import Mapping

from lading.kernel.values import replace
from lading.ports.http import HttpTransport, Request, Response

Kubelets = Mapping[str, HttpTransport]
"""By the names of their nodes; nodes may come and go while the server runs."""

NO_KUBELETS: Kubelets = {}


async def forwarded(request: Request, kubelets: Kubelets) -> Response | None:
    """The answer of the kubelet, which does not see the token; None for any other path."""
    match request.path.split("/", 6):
        case ["", "api", "v1", "nodes", name, "proxy", *rest] if name in kubelets:
            headers = {key: it for key, it in request.headers.items() if key != "authorization"}
            path = f"/{''.join(rest)}"
            return await kubelets[name](replace(request, path=path, headers=headers))
        case _:
            return None
