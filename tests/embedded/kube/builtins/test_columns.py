"""What `kubectl get` prints, as a real kube-apiserver was seen to print it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lading.embedded.kube import builtins
from lading.embedded.kube.builtins import columns

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KINDS = {(kind.group, kind.kind): kind for kind in builtins.kinds()}
Document = dict[str, Any]


def row(group: str, kind: str, document: Document) -> dict[str, Any]:
    metadata = {"name": "x", "creationTimestamp": "2026-01-01T11:55:00Z"}
    whole = {**document, "metadata": {**metadata, **document.get("metadata", {})}}
    return {column.name: column.cell(whole, NOW) for column in KINDS[group, kind].columns}


def status_of(document: Document) -> Any:
    return row("", "Pod", document)["Status"]


def container(**state: Any) -> Document:
    return {"name": "c", "ready": "running" in state, "restartCount": 0, "state": state}


def main(**state: Any) -> Document:
    return {"containerStatuses": [container(**state)]}


def first(**state: Any) -> Document:
    return {"initContainerStatuses": [container(**state)]}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"), (0, "0s"), (119, "119s"), (120, "2m"), (192, "3m12s"), (600, "10m"),
        (3 * 3600, "3h"), (5 * 3600 + 60, "5h1m"), (8 * 3600, "8h"), (49 * 3600, "2d1h"),
        (10 * 86_400, "10d"), (800 * 86_400, "2y70d"), (9 * 365 * 86_400, "9y"),
    ],
)  # fmt: skip
def test_ages_are_written_as_kubectl_does(seconds: int, text: str) -> None:
    then = NOW - timedelta(seconds=seconds)
    assert columns.age(then.isoformat(), NOW) == text


def test_a_time_that_is_none_is_unknown() -> None:
    assert columns.age(None, NOW) == "<unknown>"
    assert columns.age("yesterday", NOW) == "<invalid>"


def test_every_kind_shows_a_bare_object_without_an_error() -> None:
    for group, kind in KINDS:
        assert "x" in row(group, kind, {}).values()


def test_a_running_pod() -> None:
    status = {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "containerStatuses": [
            {
                **container(running={}),
                "restartCount": 2,
                "lastState": {"terminated": {"finishedAt": "2026-01-01T11:50:00Z"}},
            }
        ],
    }
    spec = {"nodeName": "n1", "containers": [{"name": "c"}]}
    assert row("", "Pod", {"spec": spec, "status": status}) == {
        "Name": "x",
        "Ready": "1/1",
        "Status": "Running",
        "Restarts": "2 (10m ago)",
        "Age": "5m",
        "IP": "10.0.0.1",
        "Node": "n1",
    }


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (main(waiting={"reason": "ImagePullBackOff"}), "ImagePullBackOff"),
        (main(terminated={"reason": "Completed"}), "Completed"),
        (main(terminated={"exitCode": 3}), "ExitCode:3"),
        (main(terminated={"signal": 9}), "Signal:9"),
        (first(running={}), "Init:0/1"),
        (first(waiting={"reason": "ErrImagePull"}), "Init:ErrImagePull"),
        ({**first(terminated={"exitCode": 0}), "phase": "Running"}, "Running"),
    ],
)
def test_one_word_tells_how_a_pod_is(status: Document, word: str) -> None:
    spec = {"initContainers": [{"name": "i"}], "containers": [{"name": "c"}]}
    assert status_of({"spec": spec, "status": status}) == word


def test_a_pod_that_is_being_deleted_is_terminating() -> None:
    metadata = {"deletionTimestamp": "2026-01-01T11:59:00Z"}
    assert status_of({"metadata": metadata, "status": {"phase": "Running"}}) == "Terminating"


def test_a_node_shows_its_roles_and_whether_it_takes_pods() -> None:
    labels = {"node-role.kubernetes.io/worker": ""}
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = {"metadata": {"labels": labels}, "spec": {"unschedulable": True}, "status": status}
    found = row("", "Node", node)
    assert found["Status"] == "Ready,SchedulingDisabled"
    assert found["Roles"] == "worker"


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
def test_old_and_new_events_show_the_same(group: str) -> None:
    event = (
        {
            "involvedObject": {"kind": "Pod", "name": "p"},
            "lastTimestamp": "2026-01-01T11:58:00Z",
            "message": "hello\n",
        }
        if group == ""
        else {
            "regarding": {"kind": "Pod", "name": "p"},
            "series": {"lastObservedTime": "2026-01-01T11:58:00Z", "count": 1},
            "note": "hello\n",
        }
    )
    found = row(group, "Event", event)
    assert (found["Last Seen"], found["Object"], found["Message"]) == ("2m", "pod/p", "hello")
