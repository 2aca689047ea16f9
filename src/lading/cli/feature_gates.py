"""The option --feature-gates. Its gates, defaults and help come from the features."""

import click

from lading.cli import options
from lading.cli.options import Decorator
from lading.wiring.gates import GATES, parse_gates


def feature_gates_option() -> Decorator:
    """Hands over `gates`: every gate with its value."""
    known = ", ".join(f"{gate.name} (default {str(gate.default).lower()})" for gate in GATES)
    return click.option(
        "--feature-gates",
        "gates",
        envvar="LADING_FEATURE_GATES",
        metavar="NAME=BOOL,...",
        callback=options.meaning(parse_gates),
        default="",
        help=f"Features to turn on or off: {known}.",
    )
