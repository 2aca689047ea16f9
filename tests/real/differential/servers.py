"""The two servers that are compared, each with Lading's definitions: the real one with what keeps
namespaces and owners in order, and the embedded one over TLS with its data in a file.

The other controllers of a cluster stay away, since the embedded server has none of them.
"""

import asyncio
import concurrent.futures
import contextlib
import pathlib
import threading
from collections.abc import Iterator

from lading.adapters.clock import SystemClock
from lading.embedded import api_server as embedded_server
from tests.real.bed import api_server, control_plane, sandbox

CONTROLLERS = "garbage-collector-controller,namespace-controller"
START_SECONDS_MAX = 90


@contextlib.contextmanager
def real() -> Iterator[pathlib.Path]:
    """The kubeconfig of a real kube-apiserver."""
    with sandbox.sandbox() as place:
        server = api_server.start(place)
        control_plane.start_controllers(place, server, only=CONTROLLERS)
        yield server.kubeconfig_path


@contextlib.contextmanager
def embedded(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """The kubeconfig of an embedded server, which runs in a thread of this process."""
    started: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
    stop = asyncio.Event()

    async def serve() -> None:
        async with embedded_server.serve(folder, SystemClock()):
            started.set_result(asyncio.get_running_loop())
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    loop = started.result(START_SECONDS_MAX)
    try:
        yield folder / "kubeconfig"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
