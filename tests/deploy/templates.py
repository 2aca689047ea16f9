"""The templates of the chart as documents, without Helm: every branch is there, once.

A line that is only an action of the template is left out, and an action within a line becomes a
word: the name of what is included, of the field, or `dot`. So what a template says itself can be
read; what values make of it is seen in `make real`.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.manifests import DEPLOY

CHART = DEPLOY / "chart"
TEMPLATES = sorted((CHART / "templates").iterdir())
_ACTION = r"\{\{-?.*?-?\}\}"
_LINE = re.compile(rf"^[ -]*{_ACTION}\n", re.MULTILINE)
_VALUE = re.compile(r"(?:\.Values|\$(?=agent\.|image\.))\.?((?:\w+\.)*\w+)")


def documents(name: str) -> list[Any]:
    """Those of one file of `templates/`."""
    text = _LINE.sub("", (CHART / "templates" / name).read_text(encoding="utf-8"))
    found = yaml.safe_load_all(re.sub(_ACTION, _word, text))
    return [one for one in found if one]


def _word(action: re.Match[str]) -> str:
    named = re.search(r'include "([\w.]+)"|\$?\.([A-Za-z][\w.]*)', action[0])
    return (named[1] or named[2]) if named else "dot"


def values(template: Path) -> set[str]:
    """The paths of all values that a template uses; `$agent` and `$image` are values too."""
    found: set[str] = set(_VALUE.findall(template.read_text(encoding="utf-8")))
    return found
