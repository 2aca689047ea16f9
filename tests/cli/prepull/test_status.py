"""`lading prepull status`: what is shown of Images."""

import json

from lading.cli.output import Format
from lading.cli.prepull import status
from lading.prepull import status_row
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
    assert shown.splitlines()[4:] == ["b: ImageNotFound on node-c", "  not found"]


def test_the_same_fault_of_many_nodes_is_shown_once_and_wrapped() -> None:
    failures = [
        {"node": f"node-{number}", "reason": "ImageNotFound", "message": "not found " * 30}
        for number in range(9)
    ]
    shown = status.rendered([image("b", status={**FAILED, "failures": failures})], Format.TABLE)
    assert "b: ImageNotFound on node-0, node-1, " in shown
    assert " more\n" in shown
    assert " ".join(shown.split()).count("not found") == 30
    assert max(map(len, shown.splitlines())) <= 80


def test_what_keeps_images_from_every_node_is_explained_once() -> None:
    condition = {"type": "Deployed", "status": "False", "reason": "ForeignDaemonSet"}
    waiting = {"state": "deploying", "conditions": [{**condition, "message": "Rename it."}]}
    found = [image(name, status=waiting) for name in ("a", "b")]
    shown = status.rendered([*found, image("c")], Format.TABLE)
    assert shown.endswith(
        f"a, b: ForeignDaemonSet\n  Rename it.\n\nc: NotReconciled\n  {status_row.NOT_SEEN}\n"
    )


def held_as(reason: str, message: str, status: str = "False") -> dict[str, object]:
    condition = {"type": "HeldAsImageVolume", "status": status, "reason": reason}
    conditions = [*DEPLOYED["conditions"], {**condition, "message": message}]  # type: ignore[misc]
    return {**DEPLOYED, "conditions": conditions}


def test_the_last_line_says_in_which_way_the_images_are_held() -> None:
    why = "Images are held by containers: node-3 has containerd 1.7.35; image volumes need 2.1."
    found = [image(name, status=held_as("Containers", why)) for name in ("a", "b")]
    shown = status.rendered(found, Format.TABLE)
    assert shown.endswith(
        "\n\nImages are held by containers: node-3 has containerd 1.7.35; image volumes need"
        "\n2.1.\n"
    )
    (first, _) = json.loads(status.rendered(found, Format.JSON))
    assert (first["heldAs"], first["heldAsMessage"]) == ("Containers", why)


def test_without_pre_pulling_no_way_is_shown() -> None:
    off = held_as("PrePullDisabled", "off", status="Unknown")
    assert "off" not in status.rendered([image("a", status=off)], Format.TABLE)
    (shown,) = json.loads(status.rendered([image("a", status=off)], Format.JSON))
    assert shown["heldAs"] == ""


def test_a_url_with_a_digest_shows_the_name() -> None:
    url = f"127.0.0.1:5000/first/app@sha256:{'0123456789abcdef' * 4}"
    shown = status.rendered([image("a", url, status=DEPLOYED)], Format.TABLE)
    assert "/first/app@sha256:01234567\n" in shown


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
