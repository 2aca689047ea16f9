"""Guest platforms in a runtime's configuration: the KEP's table, and containerd's own place."""

import pytest

from lading.kernel import platforms
from lading.kernel.errors import Malformed
from lading.kernel.platforms import guests

CONTAINERD_2 = """
[plugins.'io.containerd.cri.v1.images'.runtime_platforms.kata-arm]
platform = 'linux/arm64'
snapshotter = 'overlayfs'
[plugins.'io.containerd.cri.v1.images'.runtime_platforms.nydus]
snapshotter = 'nydus'
"""
BOTH = """
[runtime_platforms.kata]
platform = "linux/amd64"
[runtimes.kata.guest_platform]
OS = "linux"
Architecture = "arm64"
"""
KEP_SAMPLE = """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runhcs-wcow-process]
runtime_type = "io.containerd.runhcs.v1"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runhcs-wcow-process.guest_platform]
Architecture = "amd64"
OS = "windows"
OSFeatures = []
OSVersion = "10.0.20348"
Variant = ""
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""


def test_guest_platforms_are_read_from_the_runtimes_own_configuration() -> None:
    assert guests.parse(KEP_SAMPLE) == {
        "runhcs-wcow-process": platforms.parse("windows(10.0.20348)/amd64")
    }
    assert guests.handlers(KEP_SAMPLE)["runc"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[runtimes.a.guest_platform]\nOS = "linux"', "handler 'a'.*`Architecture`"),
        ("[runtimes.a]\nguest_platform = 3", "Expected `object`"),
        ('[runtimes.a.guest_platform]\nOS = "l"\nArchitecture = 3', r"Expected `str`.*\$.Archi"),
        ("[runtimes", "TOML document"),
    ],
)
def test_a_wrong_guest_platform_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        guests.parse(text)


def test_containerds_own_platform_of_a_runtime_is_read_too() -> None:
    assert guests.parse(CONTAINERD_2) == {"kata-arm": platforms.parse("linux/arm64")}


def test_the_guest_platform_of_the_proposal_wins_where_both_are_written() -> None:
    assert guests.parse(BOTH) == {"kata": platforms.parse("linux/arm64")}


def test_a_platform_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(Malformed, match="platform"):
        guests.parse('[runtime_platforms.kata]\nplatform = "arm"')


def test_runtime_classes_may_be_declared_beside_the_guest() -> None:
    text = '[runtimes.kata]\nruntime_class_names = ["vm", "sandboxed"]\n[runtimes.runc]'
    assert guests.class_names(text) == {"kata": ("vm", "sandboxed")}
    with pytest.raises(Malformed, match="runtime_class_names of runtime handler 'kata'"):
        guests.class_names("[runtimes.kata]\nruntime_class_names = 3")
