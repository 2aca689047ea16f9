"""The platform rules as tables: what is one platform, what runs where, and why not."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import platforms
from lading.kernel.errors import Malformed
from lading.kernel.platforms import Platform, fallback, windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    platform: Platform | None
    name: str = ""


def entries(*texts: str) -> list[Entry]:
    return [Entry(platform=platforms.parse(text), name=text) for text in texts]


def chosen_name(offered: list[Entry], wanted: str) -> str:
    choice = platforms.select(offered, platforms.parse(wanted))
    assert isinstance(choice, platforms.Chosen), str(choice)
    return choice.entry.name


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        ("linux/x86_64", "linux/amd64"),
        ("linux/x86-64", "linux/amd64"),
        ("linux/amd64/v1", "linux/amd64"),
        ("linux/aarch64/v8", "linux/arm64"),
        ("linux/arm64/9.0", "linux/arm64/v9"),
        ("linux/arm64/v8.0", "linux/arm64"),
        ("linux/i386/v3", "linux/386"),
        ("linux/armhf", "linux/arm/v7"),
        ("linux/armel", "linux/arm/v6"),
        ("linux/arm", "linux/arm/v7"),
        ("linux/arm/6", "linux/arm/v6"),
        ("macos/arm64", "darwin/arm64"),
        ("WINDOWS(10.0.20348)/AMD64", "windows(10.0.20348)/amd64"),
    ],
)
def test_two_spellings_of_one_platform_become_equal(spelling: str, normal: str) -> None:
    assert str(platforms.parse(spelling)) == normal


@pytest.mark.parametrize(
    ("machine", "image"),
    [("armv7l", "linux/arm/v7"), ("armv6l", "linux/arm/v6"), ("i686", "linux/386")],
)
def test_the_kernels_name_of_a_machine_finds_its_image(machine: str, image: str) -> None:
    offered = entries("linux/amd64", "linux/arm64", "linux/arm/v6", "linux/arm/v7", "linux/386")
    assert chosen_name(offered, f"linux/{machine}") == image


@given(
    st.builds(
        Platform,
        os=st.sampled_from(["linux", "Windows", "macOS"]),
        architecture=st.sampled_from(["x86_64", "arm", "armel", "aarch64", "arm64", "riscv64"]),
        variant=st.sampled_from(["", "v1", "5", "v8", "9.0", "v9.2", "9.2", "v03", "x"]),
        os_features=st.lists(st.sampled_from(["win32k", "gpu"])).map(tuple),
    )
)
def test_the_normal_form_of_a_normal_form_is_itself(platform: Platform) -> None:
    once = platforms.normalised(platform)
    assert platforms.normalised(once) == once
    assert platforms.refusal(once, once) is None


def test_a_text_that_is_no_platform_is_refused_with_the_expected_form() -> None:
    with pytest.raises(Malformed, match="os/architecture"):
        platforms.parse("amd64")


@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        ("linux/amd64", ["amd64", "386"]),
        ("linux/amd64/v3", ["amd64/v3", "amd64/v2", "amd64", "386"]),
        ("linux/arm/v7", ["arm/v7", "arm/v6", "arm/v5"]),
        ("linux/arm64", ["arm64", "arm/v8", "arm/v7", "arm/v6", "arm/v5"]),
        ("linux/s390x", ["s390x"]),
        ("linux/arm64/v8.2", ["arm64/v8.2", "arm64/v8.1", "arm64", "arm/v8"]),
        ("linux/arm64/v9.1", ["arm64/v9.1", "arm64/v9", "arm64/v8.6", "arm64/v8.5"]),
    ],
)
def test_variants_fall_back_from_newer_to_older(wanted: str, order: list[str]) -> None:
    tried = fallback.processors(platforms.parse(wanted))
    names = [f"{name}/{variant}" if variant else name for name, variant in tried]
    assert names[: len(order)] == order


def test_the_newest_variant_that_the_processor_runs_is_chosen() -> None:
    offered = entries("linux/arm/v5", "linux/arm/v7", "linux/arm/v6")
    assert chosen_name(offered, "linux/arm/v6") == "linux/arm/v6"
    assert chosen_name(offered, "linux/arm64") == "linux/arm/v7"


def test_an_amd64_machine_prefers_amd64_and_falls_back_to_386() -> None:
    assert chosen_name(entries("linux/386", "linux/amd64"), "linux/amd64") == "linux/amd64"
    assert chosen_name(entries("linux/386", "linux/arm64"), "linux/amd64") == "linux/386"


@pytest.mark.parametrize(
    ("kernel", "image", "runs"),
    [
        ("10.0.17763", "10.0.17763.4851", True),
        ("10.0.20348", "10.0.17763.4851", False),
        ("10.0.17763", "10.0.20348.1970", False),
        ("10.0.20348", "10.0.20348.1970", True),
        ("10.0.22621", "10.0.20348", True),
        ("10.0.25398", "10.0.22621", True),
        ("10.0.26100", "10.0.20348", True),
        ("10.0.26100", "10.0.25398", True),
        ("10.0.20348", "10.0.26100", False),
        ("10.0.27000", "10.0.26100", True),
        ("10.0.27000", "10.0.25398", False),
        ("10.0.20348", "11.0.20348", False),
        ("10.0.9999", "10.0.20348", False),
        ("", "10.0.20348", True),
        ("10.0.20348", "", True),
        ("10.0.20348", "nonsense", True),
    ],
)
def test_windows_builds_are_compared_as_numbers(kernel: str, image: str, runs: bool) -> None:
    assert (windows.refusal(kernel=kernel, image=image) is None) is runs


def test_a_hyper_v_guest_may_be_older_than_the_host_but_not_newer() -> None:
    assert windows.guest_refusal(host="10.0.20348", guest="10.0.17763") is None
    refusal = windows.guest_refusal(host="10.0.17763", guest="10.0.20348")
    assert refusal == "the guest's os.version 10.0.20348 is newer than the host's 10.0.17763"


def test_the_kernels_own_build_is_preferred_then_the_newest_revision_as_a_number() -> None:
    offered = entries(
        "windows(10.0.20348.9)/amd64",
        "windows(10.0.25398.1)/amd64",
        "windows(10.0.20348.1970)/amd64",
    )
    assert chosen_name(offered, "windows(10.0.20348)/amd64") == "windows(10.0.20348.1970)/amd64"
    assert chosen_name(offered, "windows(10.0.26100)/amd64") == "windows(10.0.25398.1)/amd64"


def test_an_older_guest_gets_its_own_image_from_the_same_index() -> None:
    offered = entries("windows(10.0.20348.1970)/amd64", "windows(10.0.17763.4851)/amd64")
    assert chosen_name(offered, "windows(10.0.17763)/amd64") == "windows(10.0.17763.4851)/amd64"


def test_os_features_must_be_present_and_more_of_them_win() -> None:
    plain = Platform(os="linux", architecture="amd64")
    special = Platform(os="linux", architecture="amd64", os_features=("gpu",))
    offered = [Entry(platform=plain, name="plain"), Entry(platform=special, name="special")]
    with_feature = platforms.select(offered, special)
    without = platforms.select(offered, plain)
    assert isinstance(with_feature, platforms.Chosen)
    assert isinstance(without, platforms.Chosen)
    assert (with_feature.entry.name, without.entry.name) == ("special", "plain")


def test_win32k_is_a_feature_that_every_windows_has() -> None:
    image = Platform(os="windows", architecture="amd64", os_features=("win32k",))
    assert platforms.refusal(Platform(os="windows", architecture="amd64"), image) is None


@pytest.mark.parametrize("platform", [None, Platform(os="", architecture="")])
def test_an_entry_without_a_platform_is_taken_last_and_marked(platform: Platform | None) -> None:
    unmarked = Entry(platform=platform, name="unmarked")
    choice = platforms.select([unmarked, *entries("linux/arm64")], platforms.parse("linux/amd64"))
    assert choice == platforms.Chosen(entry=unmarked, platform_is_declared=False)
    assert chosen_name([unmarked, *entries("linux/386")], "linux/amd64") == "linux/386"


def test_a_mismatch_says_what_is_offered_and_which_rule_failed_entry_by_entry() -> None:
    offered = [
        *entries("linux/arm64", "linux/amd64/v3", "windows(10.0.17763)/amd64"),
        Entry(platform=platforms.UNKNOWN),
    ]
    choice = platforms.select(offered, platforms.parse("linux/amd64"))
    assert isinstance(choice, platforms.NoMatch)
    assert [str(explanation) for explanation in choice.explanations] == [
        "linux/arm64: the architecture is not amd64",
        "linux/amd64/v3: variant v3 is not among amd64, 386",
        "windows(10.0.17763)/amd64: the operating system is not linux",
        "unknown/unknown: an attestation, not an image",
    ]
    assert str(choice).startswith("no image for linux/amd64: the index offers linux/arm64: ")


def test_an_empty_index_is_reported_as_empty() -> None:
    assert "empty" in str(platforms.select([], platforms.parse("linux/amd64")))


def test_of_a_long_index_ten_entries_are_explained() -> None:
    choice = platforms.select(entries(*["linux/arm64"] * 4096), platforms.parse("linux/amd64"))
    assert str(choice).count("linux/arm64") == 10
    assert str(choice).endswith("; and 4086 more")
