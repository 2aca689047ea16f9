"""A hook of MkDocs: a link to a file outside docs/ becomes its text and the path of the file.

On a forge such links open the file; the site has only the pages of docs/.
"""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[([^]]+)\]\(((?:\.\./)+[^)#\s]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    return without_outside_links(markdown, page.file.src_uri)


def without_outside_links(markdown: str, page: str) -> str:
    """`page` is the path of the page below docs/."""

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), found[2]))
        return found[0] if target.startswith("docs/") else f"{found[1]} (`{target}`)"

    return _LINK.sub(replaced, markdown)
