"""The server of the informer benchmark: prepared pages and watch events of config maps."""

import asyncio
import contextlib
import sys
from typing import Any

import msgspec
from aiohttp import web

PAGE_OBJECTS = 500
CHUNK_EVENTS = 50
PATH = "/api/v1/configmaps"


def config_map(number: int, revision: int) -> dict[str, Any]:
    """About 1.1 KB of JSON, a third of it managed fields, as on a real cluster."""
    managed: dict[str, Any] = {f"f:key-{field}": {} for field in range(8)}
    return {
        "metadata": {
            "name": f"config-map-{number}",
            "namespace": f"namespace-{number % 50}",
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "resourceVersion": str(revision),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"pool": "worker", "app": f"app-{number % 100}"},
            "managedFields": [
                {
                    "manager": "lading",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:data": managed},
                }
            ],
        },
        "data": {f"key-{field}": f"{number}-{field}-" + "x" * 40 for field in range(8)},
    }


def page(start: int, objects: int) -> bytes:
    end = min(start + PAGE_OBJECTS, objects)
    metadata = {"resourceVersion": "1"} | ({"continue": str(end)} if end < objects else {})
    items = [config_map(number, 1) for number in range(start, end)]
    return msgspec.json.encode({"kind": "ConfigMapList", "metadata": metadata, "items": items})


def application(objects: int, events: int) -> web.Application:
    pages = {start: page(start, objects) for start in range(0, max(objects, 1), PAGE_OBJECTS)}
    lines = [
        msgspec.json.encode(
            {"type": "MODIFIED", "object": config_map(number % objects, 2 + number)}
        )
        for number in range(events)
    ]
    chunks = [
        b"".join(line + b"\n" for line in lines[start : start + CHUNK_EVENTS])
        for start in range(0, events, CHUNK_EVENTS)
    ]

    async def answer(request: web.Request) -> web.StreamResponse:
        if "sendInitialEvents" in request.query:
            return web.Response(status=422, text="initial events are not served here")
        if "watch" not in request.query:
            body = pages[int(request.query.get("continue", "0"))]
            return web.Response(body=body, content_type="application/json")
        response = web.StreamResponse()
        with contextlib.suppress(ConnectionError):  # the reader has seen enough
            await response.prepare(request)
            for chunk in chunks:
                await response.write(chunk)
        return response

    app = web.Application()
    app.router.add_get(PATH, answer)
    return app


async def serve(objects: int, events: int) -> None:
    """Prints its address and serves until it is terminated."""
    runner = web.AppRunner(application(objects, events))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:3])))
