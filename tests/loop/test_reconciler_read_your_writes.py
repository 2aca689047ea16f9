"""What we wrote ourselves is seen at once, and never longer than it is true."""

import msgspec
import pytest

from lading.adapters.clock import VirtualClock
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.kernel.objects import Key
from lading.loop.informer import Informer
from lading.loop.reconciler import EXPIRY_SECONDS, ReadYourWrites

ONE = Key("images", "one")


def made(revision: int, *, uid: str = "first", namespace: str = "images") -> ConfigMap:
    return msgspec.convert(
        {
            "metadata": {
                "name": "one",
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(revision),
            }
        },
        ConfigMap,
    )


@pytest.fixture
def informer() -> Informer[ConfigMap]:
    return Informer(CONFIG_MAPS)


@pytest.fixture
def objects(informer: Informer[ConfigMap], clock: VirtualClock) -> ReadYourWrites[ConfigMap]:
    return ReadYourWrites(informer, clock)


Objects = ReadYourWrites[ConfigMap]
Cache = Informer[ConfigMap]


def test_a_write_is_seen_before_the_cache_shows_it(objects: Objects, informer: Cache) -> None:
    informer.put(made(9))
    objects.add(made(10))
    assert objects.get(ONE) == made(10)


def test_what_was_created_is_seen_although_the_cache_has_nothing(objects: Objects) -> None:
    objects.add(made(10))
    assert objects.get(ONE) == made(10)
    assert objects.get(Key("other", "one")) is None


@pytest.mark.parametrize("shown", [10, 11])
def test_what_the_cache_shows_is_not_kept_a_second_time(
    objects: Objects, informer: Cache, shown: int
) -> None:
    """A controller would remember every object that ever was. Ten is more than nine."""
    informer.put(made(9))
    objects.add(made(10))
    informer.put(made(shown))
    assert objects.get(ONE) == made(shown)
    assert len(objects) == 0


def test_an_answer_that_comes_after_its_watch_event_is_not_kept(
    objects: Objects, informer: Cache
) -> None:
    informer.put(made(11))
    objects.add(made(10))
    assert objects.get(ONE) == made(11)
    assert len(objects) == 0


def test_a_deleted_object_does_not_come_back(objects: Objects, informer: Cache) -> None:
    informer.put(made(9))
    objects.add(made(10))
    informer.remove(ONE)
    assert objects.get(ONE) is None
    assert len(objects) == 0


def test_an_answer_that_comes_after_the_deletion_of_its_object_is_not_kept(
    objects: Objects, informer: Cache
) -> None:
    """The cache shows nothing, and no event will ever come for what is gone."""
    informer.put(made(10))
    informer.remove(ONE)
    informer.reached("11")
    objects.add(made(10))
    assert objects.get(ONE) is None
    assert len(objects) == 0


def test_another_object_of_the_same_name_hides_our_write(objects: Objects, informer: Cache) -> None:
    """An API server that was restored from a backup counts from a lower revision."""
    informer.put(made(9))
    objects.add(made(10))
    informer.put(made(3, uid="second"))
    assert objects.get(ONE) == made(3, uid="second")


async def test_a_restored_api_server_is_believed_after_a_while(
    objects: Objects, informer: Cache, clock: VirtualClock
) -> None:
    informer.put(made(9))
    objects.add(made(10))
    informer.put(made(3))
    assert objects.get(ONE) == made(10)
    await clock.advance(EXPIRY_SECONDS)
    assert objects.get(ONE) == made(3)
    assert len(objects) == 0


def test_all_objects_are_the_cached_ones_with_our_writes(objects: Objects, informer: Cache) -> None:
    informer.put(made(9))
    informer.put(made(8, namespace="other"))
    objects.add(made(10))
    objects.add(made(11, namespace="new"))
    assert list(objects) == [made(10), made(8, namespace="other"), made(11, namespace="new")]
