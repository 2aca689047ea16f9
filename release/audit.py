"""Asks the OSV database for known vulnerabilities of every package in the locks.

`python -m release.audit` ends with 1 when there are any. Where the database cannot be reached it
says so and ends with 1 as well: nothing is known then.
"""

import json
import pathlib
import sys
import urllib.request
from collections.abc import Mapping, Sequence

from release import lock
from release.lock import Package

DATABASE = "https://api.osv.dev"
ANSWER_SECONDS_MAX = 30.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024
LOCKS = sorted((pathlib.Path(__file__).parents[1] / "requirements").glob("*.txt"))


class Unreachable(Exception):
    """The database gave no answer that can be read."""


def vulnerabilities(packages: Sequence[Package], database: str) -> Mapping[str, Sequence[str]]:
    """The identifiers of what is known, by package URL; without those that have none."""
    queries = [{"package": {"purl": one.url}} for one in packages]
    request = urllib.request.Request(  # noqa: S310 - the address is a constant or a test's
        f"{database}/v1/querybatch",
        data=json.dumps({"queries": queries}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as response:  # noqa: S310
            answer = json.loads(response.read(ANSWER_BYTES_MAX))
        found = [[one["id"] for one in result.get("vulns", ())] for result in answer["results"]]
        pairs = list(zip(packages, found, strict=True))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreachable(f"{database}: {error}") from error
    return {package.url: ids for package, ids in pairs if ids}


def main(database: str = DATABASE) -> int:
    locked = {one for file in LOCKS for one in lock.packages(file.read_text(encoding="utf-8"))}
    packages = sorted({one.url: one for one in locked}.values(), key=lambda one: one.url)
    try:
        found = vulnerabilities(packages, database)
    except Unreachable as error:
        print(f"Known vulnerabilities cannot be looked up: {error}. Try again with a network.")
        return 1
    for url, identifiers in found.items():
        print(f"{url}: {', '.join(f'https://osv.dev/{one}' for one in identifiers)}")
    print(f"{len(packages)} packages, {len(found)} with known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
