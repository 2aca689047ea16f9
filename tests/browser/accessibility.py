"""What axe finds wrong with a page, by the rules of WCAG 2.2 A and AA."""

from importlib import resources
from typing import Any

from playwright.async_api import Page

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


async def violations(page: Page) -> list[str]:
    """One line for each element; the page must be opened with `bypass_csp`."""
    source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
    await page.evaluate(f"() => {{ {source} }}")
    found: dict[str, Any] = await page.evaluate(
        "(rules) => axe.run(document, {runOnly: {type: 'tag', values: rules}})", _RULES
    )
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]
