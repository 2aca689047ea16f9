"""What is wrong with a plan, in sentences."""

import json
from typing import Any

from lading.cli.output import Format
from lading.cli.pin import plan_report
from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node.preview import Preview, UnavailableImage

HOST, GUEST = ImageKey("example.com/a@sha256:1"), ImageKey("example.com/a@sha256:1", "kata")


LAYER = Layer("sha256:2", 10)


def preview(**fields: Any) -> Preview:
    defaults: dict[str, Any] = {
        "node_name": "n", "set_names": ("s",), "wanted": frozenset({HOST}), "missing": (HOST,),
        "to_pull": (HOST,), "unknown": (), "pull_layers": frozenset({LAYER}), "disk_bytes": 20,
        "free_bytes": 100, "reserve_bytes": 0, "refusals": (),
    }  # fmt: skip
    return Preview(**(defaults | fields))


def failure(key: ImageKey) -> UnavailableImage:
    return UnavailableImage(
        key=key, reason="ImageNotFound", message=f"{key.image}: not found (404)."
    )


def explained(*previews: Preview) -> list[str]:
    lines = plan_report.rendered(previews, Format.TABLE, columns=80).splitlines()
    return lines[1 + len(previews) :]


def test_a_plan_that_holds_has_no_complaint() -> None:
    assert plan_report.complaints([preview()], ["s"]) == []
    assert explained(preview()) == []


def test_an_image_is_explained_once_for_each_handler_with_its_nodes() -> None:
    failures = (failure(HOST), failure(GUEST))
    found = [preview(node_name=name, unavailable=failures) for name in ("m", "n")]
    assert explained(*found) == [
        "ImageNotFound: example.com/a@sha256:1: not found (404); wanted on m, n",
        "ImageNotFound: example.com/a@sha256:1 for kata: not found (404); wanted on m, n",
    ]
    assert plan_report.complaints(found, ["s"]) == ["2 images cannot be pulled"]


def test_unknown_free_space_matters_only_where_something_is_missing() -> None:
    blind = preview(free_bytes=None, space_problem="forbidden")
    assert explained(blind) == ["the free space of n is unknown: forbidden"]
    assert plan_report.complaints([blind], ["s"]) == ["the free space of 1 node is unknown"]
    complete = preview(free_bytes=None, missing=(), to_pull=())
    assert plan_report.complaints([complete], ["s"]) == []


def test_a_table_with_a_long_name_fits_80_columns() -> None:
    long = preview(
        node_name="ip-10-0-134-12.eu-west-1.compute.internal." + "x" * 40, unknown=(HOST,)
    )
    lines = plan_report.rendered([long], Format.TABLE, columns=80).splitlines()
    assert max(map(len, lines)) <= 80


def test_behind_a_cache_a_layer_that_several_nodes_pull_is_counted_once() -> None:
    other = Layer("sha256:3", 5)
    previews = [preview(), preview(node_name="m", pull_layers=frozenset({LAYER, other}))]
    text = plan_report.rendered(previews, Format.TABLE, columns=80, behind_cache=True)
    assert text.splitlines()[-1] == (
        "All nodes together pull 25 B; a pull-through cache of the site downloads 15 B"
    )
    document = json.loads(
        plan_report.rendered(previews, Format.JSON, columns=80, behind_cache=True)
    )
    assert [one["node"] for one in document["nodes"]] == ["n", "m"]
    assert (document["downloadBytes"], document["downloadBytesBehindCache"]) == (25, 15)


def test_an_image_of_unknown_size_makes_the_sums_lower_limits() -> None:
    previews = [preview(unknown=(HOST,))]
    text = plan_report.rendered(previews, Format.TABLE, columns=80, behind_cache=True)
    assert text.splitlines()[-1] == (
        "All nodes together pull 10 B+; a pull-through cache of the site downloads 10 B+"
    )
