"""What a long run sets."""

import gc

from lading.cli import signals


async def test_a_long_run_collects_garbage_as_often_as_python_does() -> None:
    async def work() -> None:
        assert gc.get_threshold()[0] <= usual[0]

    usual = gc.get_threshold()
    gc.set_threshold(2 * usual[0])
    try:
        await signals.until_signalled(work())
    finally:
        gc.set_threshold(*usual)
