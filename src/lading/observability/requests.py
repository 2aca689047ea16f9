"""Counts and times the requests that a client makes, by standing between it and its exchange."""

import time

from lading.observability.metrics import Metrics
from lading.ports.http import Exchange, Request, Response

NO_ANSWER = "none"


def measured(exchange: Exchange, metrics: Metrics) -> Exchange:
    """The same exchange, with every request counted by method and status code."""

    async def measure(request: Request) -> Response:
        code = NO_ANSWER
        started_at = time.perf_counter()
        try:
            response = await exchange(request)
            code = str(response.status)
            return response
        finally:
            metrics.client_requests.labels(request.method, code).inc()
            seconds = time.perf_counter() - started_at
            metrics.client_request_seconds.labels(request.method).observe(seconds)

    return measure
