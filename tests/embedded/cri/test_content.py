"""The blobs on disk, while other blobs are just arriving."""

import asyncio
from pathlib import Path

from lading.embedded.cri.content import Blob, ContentStore
from lading.kernel.digests import Digest

BLOBS = 300
CAPACITY_BYTES = 10**9


async def test_space_can_be_asked_for_while_blobs_are_put_into_place(tmp_path: Path) -> None:
    """A thread moves them: one that was there a moment ago may be elsewhere now."""
    store = ContentStore(tmp_path, capacity_bytes=CAPACITY_BYTES)
    contents = [str(number).encode() for number in range(BLOBS)]
    blobs = [Blob(digest=Digest.of(one), size_bytes=len(one)) for one in contents]
    with store.lease(blobs):
        puts = asyncio.gather(*map(store.put, blobs, contents))
        while not puts.done():
            store.require_space()
            await asyncio.sleep(0)
        await puts
    assert all(store.contains(blob.digest) for blob in blobs)
