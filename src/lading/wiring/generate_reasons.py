"""The tables of docs/reasons.md: each has the docstrings of the members of one enumeration."""

import ast
import importlib
import inspect
import re
import textwrap
from enum import StrEnum
from itertools import pairwise

from lading.wiring import marked_tables
from lading.wiring.marked_tables import Rows

_TABLE = re.compile(r"<!-- begin (lading\.[\w.]+):[^\n]*\n\| ([^|]+) \|")


def with_tables(page: str) -> str:
    """The page with its tables up to date."""
    for path, column in _TABLE.findall(page):
        page = marked_tables.with_table(page, path, _rows(path, column))
    return page


def _rows(path: str, column: str) -> Rows:
    """The page itself says what the first column has."""
    module, _, name = path.rpartition(".")
    found: type[StrEnum] = getattr(importlib.import_module(module), name)
    yield from marked_tables.head(column, "meaning")
    texts = docstrings(found)
    for member in found:
        yield f"`{member.value}`", texts[member.name]


def docstrings(enumeration: type[StrEnum]) -> dict[str, str]:
    """The string after each member, by the name of the member, on one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(enumeration))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement, after in pairwise(definition.body):
        match statement, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str())):
                found[name] = " ".join(ast.literal_eval(after.value).split())
    return found
