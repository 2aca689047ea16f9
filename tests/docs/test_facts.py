"""Labels, variables, ports and defaults that a page names are those of the code."""

import re
from functools import cache

import yaml

from lading.wiring.controller import LEASE_NAME
from tests.docs import pages

_SELECTED = re.compile(r"(?:-l|-l=|--selector=?) ?([\w.-]+/[\w.-]+|\w+)=([\w.-]+)")
_VARIABLE = re.compile(r"\bLADING_[A-Z_]+\b")


@cache
def code(*folders: str) -> str:
    """Manifests and sources, as one text."""
    found = (pages.REPOSITORY / name for name in folders)
    files = (one for folder in found for one in folder.rglob("*") if one.is_file())
    return "\n".join(
        one.read_text(encoding="utf-8")
        for one in files
        if one.suffix in (".py", ".yaml", ".tpl", ".json")
    )


def is_label(key: str, value: str) -> bool:
    written = rf'["\']?{re.escape(key)}["\']?: ["\']?{re.escape(value)}\b'
    return re.search(written, code("deploy", "src")) is not None


def is_variable(name: str) -> bool:
    return f'"{name}"' in code("src", "tests")


def test_a_page_selects_by_labels_and_names_variables_that_exist() -> None:
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        for key, value in _SELECTED.findall(text):
            assert is_label(key, value), f"{page.name}: {key}={value}"
        for name in _VARIABLE.findall(text):
            assert is_variable(name), f"{page.name}: {name}"


def test_a_label_that_nothing_has_is_found() -> None:
    assert is_label("app.kubernetes.io/component", "agent")
    assert not is_label("app", "lading")
    assert _SELECTED.findall("get pods -l app=lading -o wide") == [("app", "lading")]


def test_pages_name_the_lease_of_the_controllers() -> None:
    text = "".join(one.read_text(encoding="utf-8") for one in pages.PAGES)
    named = re.findall(r"\b(?:get lease |Lease `)([a-z][a-z-]+)", text)
    assert set(named) == {LEASE_NAME}


def test_pages_name_the_ports_that_pods_serve() -> None:
    served = {
        port["containerPort"]
        for name in ("controller.yaml", "agent.yaml")
        for container in _pod(name)["containers"]
        for port in container["ports"]
    }
    for name in ("install.md", "monitoring.md"):
        text = (pages.DOCS / name).read_text(encoding="utf-8")
        assert {int(one) for one in re.findall(r"\bport (\d{4})\b", text)} == served


def _pod(name: str) -> dict[str, list[dict[str, list[dict[str, int]]]]]:
    document = yaml.safe_load((pages.REPOSITORY / "deploy" / "base" / name).read_text())
    pod: dict[str, list[dict[str, list[dict[str, int]]]]] = document["spec"]["template"]["spec"]
    return pod
