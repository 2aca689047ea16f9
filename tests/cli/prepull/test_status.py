"""`lading prepull status`: what is shown of Images."""

import json

from lading.cli.output import Format
from lading.cli.prepull import status
from tests.prepull.worlds import image

DEPLOYED = {
    "state": "deployed",
    "observedGeneration": 1,
    "nodeCount": 3,
    "deployedNodeCount": 3,
    "conditions": [{"type": "Deployed", "status": "True", "reason": "Deployed", "message": "all"}],
}
FAILED = {
    "state": "error",
    "observedGeneration": 1,
    "nodeCount": 3,
    "deployedNodeCount": 2,
    "failures": [{"node": "node-c", "reason": "ImageNotFound", "message": "not found"}],
    "conditions": [{"type": "Deployed", "status": "False", "reason": "ImageNotFound"}],
}


def test_a_table_has_one_line_per_image_and_the_faults_below() -> None:
    shown = status.rendered([image("a", status=DEPLOYED), image("b", status=FAILED)], Format.TABLE)
    lines = [line.split() for line in shown.splitlines()]
    assert lines[0] == ["IMAGE", "STATE", "NODES", "REASON", "URL"]
    assert lines[1][:4] == ["a", "deployed", "3/3", "Deployed"]
    assert lines[2][:4] == ["b", "error", "2/3", "ImageNotFound"]
    assert lines[5][:3] == ["b", "node-c", "ImageNotFound"]


def test_json_has_the_whole_url_and_the_failures() -> None:
    url = f"registry.example.com/{'long/' * 20}a:1"
    (shown,) = json.loads(status.rendered([image("a", url, status=FAILED)], Format.JSON))
    assert shown["url"] == url
    assert shown["failures"] == FAILED["failures"]


def test_a_table_fits_80_columns() -> None:
    url = f"registry.example.com/{'long/' * 20}a:1"
    shown = status.rendered([image("share-manager", url, status=DEPLOYED)], Format.TABLE)
    assert max(map(len, shown.splitlines())) <= 80


def test_an_image_is_settled_when_its_own_generation_is() -> None:
    assert status.is_settled(image(status=DEPLOYED))
    assert not status.is_settled(image(status=DEPLOYED, metadata={"generation": 2}))
    assert not status.is_settled(image(status=FAILED))
    assert not status.is_settled(image())


def test_without_images_a_sentence_names_the_next_step() -> None:
    assert "--prepull-image" in status.rendered([], Format.TABLE)
