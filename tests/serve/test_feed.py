"""What follows the notices of a store, and ends when it is told to."""

import asyncio

import pytest

from ccmtad.serve.feed import Feed
from ccmtad.serve.store.store import Store


@pytest.mark.parametrize("turns", range(6))
def test_a_feed_ends_whatever_comes_at_that_moment(sqlite: str, turns: int) -> None:
    """News that arrive as it is told to end made a service go on for ever."""
    store = Store(sqlite)

    async def live() -> None:
        feed = Feed(store)
        await feed.start()
        await asyncio.sleep(0.05)  # it waits for news by now; if not, it ends sooner
        feed.wake()
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.wait_for(feed.stop(), 60)

    try:
        asyncio.run(live())
    finally:
        store.close()
