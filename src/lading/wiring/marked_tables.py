"""Tables of a page that are written between two comments; the text around them stays."""

import re
from collections.abc import Iterable

Rows = Iterable[tuple[str, ...]]


def with_table(page: str, name: str, rows: Rows) -> str:
    """The page with the table of that name up to date."""
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    begin, end = f"<!-- begin {name}: `make generate` writes it -->\n", f"<!-- end {name} -->"
    between = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
    assert between.search(page), f"the page has no place for the table of {name}"
    return between.sub(lambda _: table, page)


def head(*columns: str) -> Rows:
    yield columns
    yield ("---",) * len(columns)
