"""Where the embedded server and a real one differ, each with the reason.

A test that is listed must fail on that target: a difference that has gone is taken off the list.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    module: str
    test: str
    targets: tuple[str, ...]
    reason: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        module="test_revisions",
        test="test_a_page_of_a_forgotten_revision_is_gone",
        targets=("real",),
        reason="its watch cache keeps snapshots for a while after etcd forgot the revision",
    ),
)


def reason(module: str, test: str, target: str) -> str:
    for difference in DIFFERENCES:
        if (difference.module, difference.test) == (module, test) and target in difference.targets:
            return difference.reason
    return ""
