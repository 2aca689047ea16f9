"""One browser for each test; pages share nothing."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.browser import chromium
from tests.pinned_images.installed_api import api

__all__ = ["api"]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium.launched() as one:
        yield one
