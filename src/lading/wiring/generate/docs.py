"""The generated tables of docs/features.md, docs/reasons.md and docs/monitoring.md.

Each table is between two comments of its page. The text around it is written by hand.
"""

import ast
import importlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from lading.loop.feature import Feature, Kind

Rows = Iterable[tuple[str, ...]]
RULES = Path("deploy/chart/monitoring")
_ENUMERATION = re.compile(r"<!--generated: (lading\.[\w.]+)-->\n\| ([^|]+) \|")


def files(repository: Path, features: tuple[Feature, ...]) -> dict[Path, str]:
    made = {
        Path("docs/features.md"): _feature_tables(features),
        Path("docs/monitoring.md"): _monitoring_tables(repository / RULES),
    }
    pages = {}
    for path, tables in made.items():
        page = (repository / path).read_text(encoding="utf-8")
        for name, rows in tables.items():
            page = with_table(page, name, rows)
        pages[path] = page
    reasons = Path("docs/reasons.md")
    return {**pages, reasons: _with_reasons((repository / reasons).read_text(encoding="utf-8"))}


def with_table(page: str, name: str, rows: Rows) -> str:
    """Returns the page with the table of that name replaced."""
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows).replace(" --- ", "---")
    return with_text(page, name, table)


def with_text(page: str, name: str, text: str) -> str:
    """Returns the page with the generated text of that name replaced."""
    begin, end = f"<!--generated: {name}-->\n", "<!--end-->"
    between = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
    assert between.search(page), f"the page has no place for {name}"
    return between.sub(lambda _: text, page, count=1)


def head(*columns: str) -> Rows:
    yield columns
    yield ("---",) * len(columns)


def _feature_tables(features: tuple[Feature, ...]) -> dict[str, Rows]:
    return {"gates": _gates(features), "kinds": _kinds(features)}


def _gates(features: tuple[Feature, ...]) -> Rows:
    yield from head("gate", "default", "feature", "while the gate is off")
    for one in features:
        what = f"{one.name}: {one.summary}"
        if one.gate is None:
            yield "none", "always on", what, ""
            continue
        yield f"`{one.gate.name}`", "on" if one.gate.default else "off", what, one.gate.off


def _kinds(features: tuple[Feature, ...]) -> Rows:
    yield from head("kind", "versions", "belongs to", "read by")
    ours = {one.name for feature in features for one in feature.owns}
    readers: dict[Kind, dict[str, None]] = {}
    for feature in features:
        read = [*(one.reads for one in feature.controller), *(one.reads for one in feature.agent)]
        for kind in itertools.chain.from_iterable(read):
            readers.setdefault(kind, {})[feature.name] = None
    for kind, names in readers.items():
        owner = "Lading" if kind.name in ours else _owner(kind)
        yield f"`{kind.name}`", " or ".join(kind.versions), owner, ", ".join(names)


def _owner(kind: Kind) -> str:
    group = kind.resource.group
    return "Kubernetes" if "." not in group or group.endswith(".k8s.io") else "others"


def _monitoring_tables(folder: Path) -> dict[str, Rows]:
    texts = (one.read_text(encoding="utf-8") for one in sorted(folder.glob("*-rules.yaml")))
    groups = [group for text in texts for group in yaml.safe_load(text)["groups"]]
    rules = [rule for group in groups for rule in group["rules"]]
    return {"alerts": _alerts(rules), "recorded series": _series(rules)}


def _alerts(rules: list[dict[str, Any]]) -> Rows:
    yield from head("alert", "severity", "for", "meaning")
    for one in rules:
        if "alert" in one:
            name, summary = one["alert"], one["annotations"]["summary"]
            link = f"[{name}](runbooks.md#{name.lower()})"
            yield link, one["labels"]["severity"], one.get("for", "at once"), summary


def _series(rules: list[dict[str, Any]]) -> Rows:
    yield from head("series", "query")
    for one in rules:
        if "record" in one:
            yield f"`{one['record']}`", f"`{one['expr']}`"


def _with_reasons(page: str) -> str:
    """Each table is named after an enumeration; the page itself names the first column."""
    for path, column in _ENUMERATION.findall(page):
        module, _, name = path.rpartition(".")
        found: type[StrEnum] = getattr(importlib.import_module(module), name)
        page = with_table(page, path, _members(found, column))
    return page


def _members(enumeration: type[StrEnum], column: str) -> Iterator[tuple[str, ...]]:
    yield from head(column, "meaning")
    texts = _docstrings(enumeration)
    for member in enumeration:
        yield f"`{member.value}`", texts[member.name]


def _docstrings(enumeration: type[StrEnum]) -> dict[str, str]:
    """The string after each member, by the name of the member, on one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(enumeration))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement, after in itertools.pairwise(definition.body):
        match statement, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str())):
                found[name] = " ".join(ast.literal_eval(after.value).split())
    return found
