"""The bill of materials names what the lock has, and the audit says what a database knows of it."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import lading
from release import audit, sbom
from release.sbom import Package

LOCK = """\
aiohttp==3.14.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via lading (pyproject.toml)
attrs==26.1.0 ; python_full_version < '3.15' \\
    --hash=sha256:cc
    # via
    #   aiohttp
    #   lading (pyproject.toml)
"""


def test_a_lock_is_read_with_versions_and_reasons() -> None:
    assert sbom.packages(LOCK) == (
        Package(name="aiohttp", version="3.14.0", needed_by=("lading",)),
        Package(name="attrs", version="26.1.0", needed_by=("aiohttp", "lading")),
    )


def test_what_is_not_pinned_is_refused() -> None:
    with pytest.raises(ValueError, match="expected NAME==VERSION"):
        sbom.packages("aiohttp>=3\n")


def test_the_bill_of_materials_has_every_package_of_the_lock_and_why_it_is_there() -> None:
    found = sbom.packages(sbom.LOCK.read_text(encoding="utf-8"))
    document = sbom.document(sbom.project(), found)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["version"] == lading.__version__
    text = sbom.LOCK.read_text(encoding="utf-8")
    assert len(document["components"]) == text.count("==") > 20
    needed = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
    assert needed.keys() == {one["bom-ref"] for one in document["components"]} | {
        sbom.project().url
    }
    needed_by_any = {url for urls in needed.values() for url in urls}
    assert needed_by_any == {one["bom-ref"] for one in document["components"]}
    assert any(url.startswith("pkg:pypi/aiohttp@") for url in needed[sbom.project().url])


@contextmanager
def database(answer: Any, *, status: int = 200) -> Iterator[str]:
    """Answers every query with this; a function makes the answer of the query."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(asked) if callable(answer) else answer).encode()
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def one_vulnerable(asked: Any) -> Any:
    """In the form of OSV's querybatch: one result for each query, empty where nothing is known."""
    known = {
        "vulns": [
            {"id": "GHSA-1", "modified": "2026-02-12T03:51:09.123456Z"},
            {"id": "PYSEC-2026-1", "modified": "2026-02-12T03:51:09Z"},
        ],
        "next_page_token": "x",
    }
    return {
        "results": [
            known if one["package"]["purl"].startswith("pkg:pypi/aiohttp@") else {}
            for one in asked["queries"]
        ]
    }


def test_the_audit_names_a_vulnerable_package_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with database(one_vulnerable) as url:
        assert audit.main(url) == 1
    printed = capsys.readouterr().out
    assert "pkg:pypi/aiohttp@" in printed
    assert "https://osv.dev/GHSA-1, https://osv.dev/PYSEC-2026-1" in printed
    assert "1 with known vulnerabilities" in printed


def test_the_audit_passes_where_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with database(lambda asked: {"results": [{} for _ in asked["queries"]]}) as url:
        assert audit.main(url) == 0
    assert " 0 with known vulnerabilities" in capsys.readouterr().out


@pytest.mark.parametrize(
    "answer", [{}, [], {"results": []}, {"results": [1]}, "text", lambda _: {"results": [{}]}]
)
def test_an_answer_that_cannot_be_read_is_no_pass(
    answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with database(answer) as url:
        assert audit.main(url) == 2
        assert (
            f"cannot be looked up: the answer of {url} cannot be read: " in capsys.readouterr().err
        )


def test_a_database_that_fails_is_named_with_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    with database({}, status=503) as url:
        assert audit.main(url) == 2
        message = f"cannot be looked up: {url} answered 503 Service Unavailable. Run `make audit`"
        assert message in capsys.readouterr().err


def test_without_a_database_it_says_so_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main("http://127.0.0.1:1") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"Known vulnerabilities of \d+ packages cannot be looked up: http://127\.0\.0\.1:1 cannot"
        r" be reached: Connection refused\. Run `make audit` where this address can be reached\.",
        line,
    )
