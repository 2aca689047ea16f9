"""Any plan, references or policy file of the pruner is read or refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lading.kernel.errors import Malformed
from lading.pruning.engine.decisions import plan_file, policy
from lading.pruning.engine.references import references_file
from tests.fuzz import harness, inputs
from tests.pruning import builders
from tests.pruning.registry_worlds import GO, SIGNED

NOW = datetime(2026, 11, 16, tzinfo=UTC)
LINES = tuple(plan_file.lines(builders.plan(SIGNED, policy=GO)))
REFERENCES = {
    "version": references_file.VERSION,
    "cluster": "uid",
    "takenAt": "2026-11-16T00:00:00Z",
    "mentions": [],
    "mirrors": [["registry.example.com", "mirror.example.com"]],
}
POLICY: dict[str, Any] = {
    "policies": [
        {
            "repositories": ["team/**", "other/*"],
            "artifactTypes": ["application/vnd.cncf.helm.config.v1+json"],
            "keepTags": [
                {"patterns": ["v.*"], "newest": 3, "by": "semver"},
                {"patterns": [".*"], "youngerThan": "168h", "match": "all", "newest": 1},
            ],
        }
    ]
}
TAGS = dict.fromkeys(("v1.2.3", "v1.2.3-rc.1", "latest", "a" * 128, "9" * 128), NOW)


@given(content=inputs.mangled(st.just(b"".join(LINES))))
def test_any_plan_file_is_read_or_refused(content: bytes) -> None:
    def read() -> None:
        header, lines = plan_file.read(content.splitlines(keepends=True))
        list(lines)
        plan_file.check_same(
            header, registry=header.registry, source=header.source, clusters=header.clusters
        )

    harness.check(read, refusals=(Malformed,))


@given(content=inputs.mangled(inputs.documents(REFERENCES).map(inputs.as_json)))
@example(content=inputs.as_json({**REFERENCES, "takenAt": "0001-01-01T00:00:00+23:59"}))
@example(content=inputs.as_json({**REFERENCES, "takenAt": "2026-11-16T00:00:00"}))
def test_any_references_file_is_read_or_refused(content: bytes) -> None:
    harness.check(
        lambda: references_file.decode(
            content, name="references", now=NOW, age_max=timedelta(hours=1)
        ),
        refusals=(Malformed,),
    )


def keeping(**entry: Any) -> dict[str, Any]:
    return {"policies": [{"repositories": ["**"], "keepTags": [entry]}]}


@given(document=inputs.documents(POLICY))
@example(document=keeping(youngerThan="9999999h"))
@example(document=keeping(youngerThan="9" * 400 + "h"))
@example(document=keeping(newest=10**30))
@example(document=keeping(patterns=["(a+)+!"]))
@example(document=keeping(patterns=["((((((a?){99}){99}){99}){99}){99})"]))
@example(document={"policies": [{"repositories": ["**a" * 40]}]})
def test_any_policy_decides_or_is_refused(document: Any) -> None:
    harness.check(lambda: _decided(document), refusals=(Malformed,))


def _decided(document: Any) -> None:
    found = policy.parse(document).of(f"team/{'a' * 200}")
    if found is not None:
        policy.verdicts(found, TAGS, NOW)
