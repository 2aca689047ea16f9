"""Regular expressions of schemas, matched by RE2 as the API server does: anywhere in the text.

RE2 has no back-tracking, so a hostile pattern or text cannot stall the server.
"""

import json

from lading.servers.kube.schema.cel import programs
from lading.servers.kube.schema.cel.errors import CelError


def matches(pattern: str, text: str) -> bool:
    """Whether the text has a match; a pattern that RE2 cannot read matches nothing."""
    try:
        return bool(_program(pattern).evaluate({"text": text}))
    except CelError:
        return False


def problem(pattern: str) -> str:
    """Why RE2 cannot read a pattern; empty when it can."""
    try:
        _program(pattern).evaluate({"text": ""})
    except CelError as error:
        return error.message
    return ""


def _program(pattern: str) -> programs.Program:
    literal = json.dumps(pattern, ensure_ascii=False)
    return programs.compiled(f"text.matches({literal})", (("text", "string"),))
