"""The options of every long-running command.

What such a command runs with is loaded when it runs: its help needs none of it.
"""

import functools
from collections.abc import Callable
from typing import Any

import click

from lading.cli import options
from lading.observability.log_format import LogFormat


def process_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the shared options, sets up the logs, and hands the rest over as `process`."""

    @click.option(
        "--metrics-host",
        metavar="ADDRESS",
        default="127.0.0.1",
        show_default=True,
        help="The address of /metrics, /healthz and /readyz.",
    )
    @options.port_option(
        "--metrics-port",
        help="The port of /metrics, /healthz and /readyz; 0 takes a free port and logs it.",
    )
    @options.log_level_option(default="info")
    @options.choice_option(
        "--log-format",
        default=LogFormat.JSON,
        choices=LogFormat,
        help="json for programs, console for people.",
    )
    @functools.wraps(command)
    def with_process(
        *args: Any,
        metrics_host: str,
        metrics_port: int,
        log_level: str,
        log_format: LogFormat,
        **more: Any,
    ) -> Any:
        from prometheus_client import CollectorRegistry

        from lading.cli.process import ServingProcess
        from lading.observability import logs
        from lading.observability.metrics import Metrics

        logs.configure(log_format, log_level)
        process = ServingProcess(
            metrics_host=metrics_host,
            metrics_port=metrics_port,
            metrics=Metrics(CollectorRegistry()),
        )
        return command(*args, process=process, **more)

    return with_process
