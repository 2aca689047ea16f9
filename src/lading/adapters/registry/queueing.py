"""Keeps the wait for a free connection out of the time that a registry has to answer in.

A host gets only so many connections; whoever waits for one waits for our own downloads.
"""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The time limit of one request; it travels with the request as its `trace_request_ctx`."""

    deadline: asyncio.Timeout
    seconds_max: float


def tracing() -> aiohttp.TraceConfig:
    traced = aiohttp.TraceConfig()
    traced.on_connection_queued_start.append(_suspend)
    traced.on_connection_queued_end.append(_resume)
    return traced


async def _suspend(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.deadline.reschedule(None)


async def _resume(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    waiting: Waiting = context.trace_request_ctx
    now = asyncio.get_running_loop().time()
    waiting.deadline.reschedule(now + waiting.seconds_max)
