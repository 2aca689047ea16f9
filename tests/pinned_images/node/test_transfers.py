"""Bytes of running pulls by the growth of the disk: what has arrived, how fast, never too much."""

from lading.pinned_images.node.transfers import Transfer, TransferMeter

MIB = 1024 * 1024


def test_what_grew_without_what_has_finished_has_arrived() -> None:
    transfer = Transfer(grown_bytes=60 * MIB, finished_bytes=10 * MIB)
    assert transfer.arrived_bytes(expected_bytes=100 * MIB, expansion_factor=2.0) == 20 * MIB
    assert transfer.arrived_bytes(expected_bytes=15 * MIB, expansion_factor=2.0) == 15 * MIB
    assert transfer.arrived_bytes(expected_bytes=100 * MIB, expansion_factor=10.0) == 0


def test_a_rate_is_the_mean_of_the_last_seconds() -> None:
    meter = TransferMeter()
    meter.begin()
    for second in range(0, 60, 2):
        meter.record((0 if second < 30 else second - 30) * 4 * MIB, at=float(second))
    assert meter.transfer.bytes_per_second(expansion_factor=2.0) == 2 * MIB


def test_growth_counts_from_the_first_pull_and_again_from_the_next_first_one() -> None:
    meter = TransferMeter()
    meter.begin()
    meter.record(100 * MIB, at=0.0)
    meter.record(130 * MIB, at=2.0)
    assert meter.transfer.grown_bytes == 30 * MIB
    meter.begin()
    meter.record(200 * MIB, at=4.0)
    assert meter.transfer.grown_bytes == 0


def test_how_much_larger_images_are_on_disk_is_measured_when_all_pulls_have_ended() -> None:
    meter = TransferMeter()
    meter.begin()
    meter.record(0, at=0.0)
    meter.record(90 * MIB, at=2.0)
    meter.finish(30 * MIB)
    meter.end()
    meter.begin()
    meter.record(90 * MIB, at=4.0)
    meter.record(120 * MIB, at=6.0)
    transfer = meter.transfer
    assert transfer.arrived_bytes(expected_bytes=99 * MIB, expansion_factor=2.0) == 10 * MIB


def test_a_disk_that_cannot_be_seen_has_no_figures() -> None:
    meter = TransferMeter()
    meter.record(100 * MIB, at=0.0)
    meter.begin()
    meter.record(None, at=2.0)
    assert meter.transfer == Transfer()
