"""The conformance program of the OCI distribution specification judges the embedded registry.

All four of its workflows run: pull, push, content discovery, content management. What it leaves out
by itself is listed with the reason; a case that is newly left out fails the test as one that fails.
"""

import asyncio
import os
import pathlib
from xml.etree import ElementTree

import pytest

from lading.embedded.registry import server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from tests.real.setup import binaries

PASSED = 64
SKIPPED = {
    "Pull Setup Get tag name from environment": (
        "only for a registry that cannot be pushed to: ours is filled by the program"
    ),
    "Content Discovery Setup Populate registry with test tags (no push)": (
        "only for a registry that cannot be pushed to: ours is filled by the program"
    ),
    "Push Cross-Repository Blob Mount Cross-mounting of nonexistent blob should yield session id": (
        "only where mounting is refused: ours mounts"
    ),
    "Push Cross-Repository Blob Mount Cross-mounting without from, and automatic content discovery"
    " enabled should return a 201": (
        "only for a registry that searches all repositories for a blob: in ours none gets a blob"
        " without naming a repository that has it"
    ),
}

PASSWORDS = Passwords({"carol": "right"})
WORKFLOWS = {
    "OCI_TEST_PULL": "1",
    "OCI_TEST_PUSH": "1",
    "OCI_TEST_CONTENT_DISCOVERY": "1",
    "OCI_TEST_CONTENT_MANAGEMENT": "1",
}
SETTINGS = WORKFLOWS | {
    "OCI_NAMESPACE": "team/app",
    "OCI_CROSSMOUNT_NAMESPACE": "team/other",
    "OCI_AUTOMATIC_CROSSMOUNT": "0",
    "OCI_USERNAME": "carol",
    "OCI_PASSWORD": "right",
}


@pytest.mark.components("registry")
@pytest.mark.parametrize(
    "guard",
    [
        pytest.param(None, id="open to everybody"),
        pytest.param(PASSWORDS, id="behind passwords"),
        pytest.param(TokenGuard(passwords=PASSWORDS), id="behind tokens"),
    ],
)
async def test_the_oci_conformance_program_is_satisfied(
    guard: AccessGuard | None, tmp_path: pathlib.Path
) -> None:
    async with server.serve(tmp_path / "registry", guard=guard) as url:
        exit_code = await judge(url, tmp_path)
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot().findall("testcase")
    failures = {title(case): case.findtext("failure") for case in cases if has(case, "failure")}
    assert failures == {}
    assert {title(case) for case in cases if has(case, "skipped")} == SKIPPED.keys()
    assert len(cases) - len(SKIPPED) == PASSED
    assert exit_code == 0


async def judge(url: str, folder: pathlib.Path) -> int:
    """Runs the program in a folder, where it leaves its report."""
    process = await asyncio.create_subprocess_exec(
        binaries.built("distribution-spec", "oci-conformance"),
        env=os.environ | SETTINGS | {"OCI_ROOT_URL": url},
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()


def has(case: ElementTree.Element, outcome: str) -> bool:
    return case.find(outcome) is not None


def title(case: ElementTree.Element) -> str:
    """Without the name of the suite, which every case begins with."""
    return case.attrib["name"].removeprefix(f"{case.attrib['classname']} ")
