"""The guest platform that containerd itself has a place for, beside the KEP's."""

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


def test_containerds_own_platform_of_a_runtime_is_read_too() -> None:
    assert guests.parse(CONTAINERD_2) == {"kata-arm": platforms.parse("linux/arm64")}


def test_the_guest_platform_of_the_proposal_wins_where_both_are_written() -> None:
    assert guests.parse(BOTH) == {"kata": platforms.parse("linux/arm64")}


def test_a_platform_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(Malformed, match="platform"):
        guests.parse('[runtime_platforms.kata]\nplatform = "arm"')
