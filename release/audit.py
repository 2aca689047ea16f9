"""Looks up known vulnerabilities of every locked package in the OSV database.

`python -m release.audit` exits with 1 if it finds any, and with 2 if the database does not answer.
"""

import json
import pathlib
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence

from release import sbom
from release.sbom import Package

DATABASE = "https://api.osv.dev"
ANSWER_SECONDS_MAX = 30.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024
LOCKS = sorted((pathlib.Path(__file__).parents[1] / "requirements").glob("*.txt"))


FOUND, UNKNOWN = 1, 2
"""Exit codes."""


class Unknown(Exception):
    """The database cannot be reached, or its answer cannot be read."""


def vulnerabilities(packages: Sequence[Package], database: str) -> Mapping[str, Sequence[str]]:
    """The identifiers of the vulnerabilities, by the URL of the package that has them."""
    queries = [{"package": {"purl": one.url}} for one in packages]
    request = urllib.request.Request(  # noqa: S310 - the address is a constant or a test's
        f"{database}/v1/querybatch",
        data=json.dumps({"queries": queries}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as response:  # noqa: S310
            body = response.read(ANSWER_BYTES_MAX)
    except urllib.error.HTTPError as error:
        raise Unknown(f"{database} answered {error.code} {error.reason}") from error
    except OSError as error:
        raise Unknown(f"{database} cannot be reached: {_reason(error)}") from error
    try:
        results = json.loads(body)["results"]
        found = [[str(one["id"]) for one in result.get("vulns", ())] for result in results]
        pairs = list(zip(packages, found, strict=True))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unknown(f"the answer of {database} cannot be read: {error!r}") from error
    return {package.url: ids for package, ids in pairs if ids}


def _reason(error: OSError) -> str:
    """`Connection refused`, `Name or service not known`, `timed out`."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return (isinstance(cause, OSError) and cause.strerror) or str(cause)


def main(database: str = DATABASE) -> int:
    locked = {one for file in LOCKS for one in sbom.packages(file.read_text(encoding="utf-8"))}
    packages = sorted({one.url: one for one in locked}.values(), key=lambda one: one.url)
    try:
        found = vulnerabilities(packages, database)
    except Unknown as error:
        print(
            f"Known vulnerabilities of {len(packages)} packages cannot be looked up: {error}."
            " Run `make audit` where this address can be reached.",
            file=sys.stderr,
        )
        return UNKNOWN
    for url, identifiers in found.items():
        print(f"{url}: {', '.join(f'https://osv.dev/{one}' for one in identifiers)}")
    print(f"{len(packages)} packages, {len(found)} with known vulnerabilities")
    return FOUND if found else 0


if __name__ == "__main__":
    sys.exit(main())
