"""Takes out of kubectl's output what no two runs share: identities, versions, times, addresses."""

import itertools
import re
import tempfile

_PATTERNS = (
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"),
    (r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"^[IW]\d{4} .* reflector\.go:.*\n", ""),  # about watches, and only sometimes
    (r"\b[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "TIME"),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (r'(resourceVersion\\?"?: ?\\?")\d+', r"\1VERSION"),
    (r"(Resource Version: +)\d+", r"\1VERSION"),
    (r"https://\d+(?:\.\d+){3}:\d+", "https://SERVER"),
    (rf"{re.escape(tempfile.gettempdir())}/[\w./-]+", "FILE"),
    (r'("(?:gitCommit|gitTreeState|buildDate|goVersion|compiler|platform)": )".*"', r'\1"BUILD"'),
    (r"(?<=\S) {2,}", "  "),  # columns are as wide as their longest cell, such as an age
    (r"(?<=\s)(?:\d+[smhdy]){1,2}(?=\s|$)", "AGE"),
    (r"<invalid>(?=\s|$)", "AGE"),
)


_CAUSE = "* "
"""How kubectl begins each cause of a refusal."""


def lines(text: str) -> list[str]:
    for pattern, replacement in _PATTERNS:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    found = [line.rstrip() for line in text.splitlines()]
    groups = itertools.groupby(found, key=lambda line: line.startswith(_CAUSE))
    # A real server goes through a schema in no order, so that its causes have none.
    return [
        line for are_causes, group in groups for line in (sorted if are_causes else list)(group)
    ]
