"""Makes this process the one that changes the pins of a runtime."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from lading.adapters import node_owner

STATE_FOLDER = Path("/var/lib/lading")
"""Of the agent and of commands without a cluster alike, so that each sees the other."""


def owning(state_dir: Path, owner: str) -> AbstractContextManager[None]:
    return node_owner.owning(state_dir, owner)


@contextmanager
def owning_runtime(endpoint: str, state_dir: Path, owner: str) -> Iterator[None]:
    """A node of `lading up` has its state directory beside its socket, and its agent owns that."""
    beside = Path(endpoint.removeprefix("unix://")).parent
    with ExitStack() as stack:
        for folder in dict.fromkeys((state_dir, beside)):
            if folder == state_dir or node_owner.had_owner(folder):
                stack.enter_context(node_owner.owning(folder, owner))
        yield
