"""/metrics, /healthz and /readyz of a standalone cluster: of its controllers, and of each node.

On a cluster every process has an endpoint of its own. Here one has them all: those of an agent
are below /nodes/NAME.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.observability import endpoint
from lading.observability.endpoint import Answers
from lading.standalone.cluster import StandaloneCluster


@asynccontextmanager
async def serve(cluster: StandaloneCluster, *, port: int) -> AsyncIterator[str]:
    """Serves while the block runs and yields the URL; port 0 takes any that is free."""

    def find() -> Answers:
        return answers(cluster)

    async with endpoint.serve_answers(host="127.0.0.1", port=port, find=find) as url:
        yield url


def answers(cluster: StandaloneCluster) -> Answers:
    parts = cluster.controllers
    found = dict(
        endpoint.answers(
            cluster.metrics.registry, cluster.unsynced(), parts.waiting(), parts.pages()
        )
    )
    for one in cluster.nodes:
        agent = one.agent
        of_node = endpoint.answers(
            one.metrics.registry, agent.unsynced(), agent.waiting(), agent.pages()
        )
        prefix = f"/nodes/{one.description.name}"
        found.update({f"{prefix}{path}": answer for path, answer in of_node.items()})
    return found
