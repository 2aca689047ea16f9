"""Where runtimes rightly or wrongly differ from the embedded service, each with the reason.

A test that is listed must fail on that runtime: a difference that has gone is taken off the list.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    test: str
    runtimes: tuple[str, ...]
    reason: str
    releases: tuple[str, ...] = ("",)
    """How the release begins, where only some differ."""


_CANNOT_PIN = "this release has no pins, and our driver says so"

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        test="test_a_filtered_list_holds_the_named_image_only",
        runtimes=("containerd",),
        reason="it ignores the filter and lists everything",
    ),
    Difference(
        test="test_the_default_handler_is_listed",
        runtimes=("containerd",),
        releases=("1.6", "1.7"),
        reason="handlers are listed since 2.0",
    ),
    Difference(
        test="test_removing_by_one_tag_removes_the_image_with_all_its_tags",
        runtimes=("cri-o",),
        reason="by name it takes away only that name while there are others",
    ),
    Difference(
        test="test_a_tag_that_moved_names_the_new_image_and_the_old_one_stays",
        runtimes=("cri-o",),
        reason="the old image stays, but without any name",
    ),
    Difference(
        test="test_an_unknown_handler_is_rejected",
        runtimes=("cri-o",),
        reason="it ignores the handler of a pull",
    ),
    Difference(
        test="test_an_unknown_handler_is_rejected",
        runtimes=("containerd",),
        releases=("1.6", "2."),
        reason="it ignores a handler it does not know; only 1.7 looks at the annotation we send",
    ),
    Difference(
        test="test_a_handler_gets_the_image_of_its_guests_beside_the_hosts_own",
        runtimes=("containerd", "cri-o"),
        reason="no runtime chooses an image by the platform of a handler's guests yet",
    ),
    *(
        Difference(test=test, runtimes=("containerd",), releases=("1.6",), reason=_CANNOT_PIN)
        for test in (
            "test_the_runtime_can_pin",
            "test_a_held_pin_is_what_the_runtime_itself_reports",
            "test_an_image_that_was_pulled_by_its_tag_is_pinned_by_its_digest",
            "test_a_pin_that_is_no_longer_wanted_is_taken_back",
            "test_a_pin_survives_pulling_the_tag_again",
            "test_a_pinned_image_is_removed_when_the_client_insists",
            "test_a_tag_of_a_pin_means_its_image_until_the_pin_is_taken_back",
            "test_a_tag_that_a_pod_pulled_stays_after_the_pin",
        )
    ),
)


def reason(*, test: str, runtime: str, release: str) -> str:
    for difference in DIFFERENCES:
        if (
            difference.test == test
            and runtime in difference.runtimes
            and release.removeprefix("v").startswith(difference.releases)
        ):
            return difference.reason
    return ""
