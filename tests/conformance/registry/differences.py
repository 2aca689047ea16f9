"""Where a real registry rightly or wrongly differs from ours, each with the reason.

A test that is listed must fail on that target, so that a difference that has gone is taken off the
list; only one that depends on rng there may also pass.
"""

from dataclasses import dataclass

DISTRIBUTION_2 = "distribution-2.8"
DISTRIBUTION_3 = "distribution-3.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    tests: tuple[str, ...]
    targets: tuple[str, ...]
    reason: str
    always: bool = True


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        tests=(
            "test_referrers_are_listed_with_type_and_annotations",
            "test_a_push_with_a_subject_is_confirmed",
            "test_referrers_are_filtered_by_artifact_type",
            "test_a_subject_may_come_after_what_refers_to_it",
            "test_a_manifest_without_referrers_has_an_empty_list",
            "test_a_deleted_referrer_is_no_longer_listed",
        ),
        targets=(DISTRIBUTION_2, DISTRIBUTION_3),
        reason="it has no referrers API; clients fall back to a tag",
    ),
    Difference(
        tests=("test_a_manifest_is_pushed_by_its_sha512_digest",),
        targets=(DISTRIBUTION_2, DISTRIBUTION_3),
        reason="it knows manifests by sha256 only",
    ),
    Difference(
        tests=("test_something_that_is_no_manifest_is_refused",),
        targets=(DISTRIBUTION_2, DISTRIBUTION_3),
        reason="it answers 500 to a document that is no object",
    ),
    Difference(
        tests=(
            "test_tags_come_in_pages_that_link_to_the_next",
            "test_tags_after_a_given_one_leave_it_out",
            "test_no_tags_are_wanted_and_none_come",
            "test_a_page_size_that_is_no_number_is_refused",
        ),
        targets=(DISTRIBUTION_2,),
        reason="it has no pages of tags and ignores what asks for them",
    ),
    Difference(
        tests=("test_tags_are_listed_in_order",),
        targets=(DISTRIBUTION_2,),
        reason="it lists tags in the order of the file system",
        always=False,
    ),
    Difference(
        tests=(
            "test_a_deleted_tag_leaves_the_manifest_and_its_other_tags",
            "test_an_unknown_tag_cannot_be_deleted",
        ),
        targets=(DISTRIBUTION_2,),
        reason="it deletes by digest only",
    ),
    Difference(
        tests=(
            "test_a_first_chunk_that_does_not_begin_at_zero_is_refused",
            "test_a_chunk_out_of_order_is_refused_and_the_upload_goes_on",
        ),
        targets=(DISTRIBUTION_2,),
        reason="it ignores the range of a chunk and appends",
    ),
    Difference(
        tests=("test_a_range_after_the_end_is_refused",),
        targets=(DISTRIBUTION_2,),
        reason="its answer announces a body that it does not send",
    ),
)


def of(test: str, target: str) -> Difference | None:
    for difference in DIFFERENCES:
        if test in difference.tests and target in difference.targets:
            return difference
    return None
