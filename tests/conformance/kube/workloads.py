"""Builders of workloads."""

from tests.conformance.kube.api import Document, resource


def daemon_set() -> Document:
    labels = {"app": "d"}
    containers = [
        {"name": "main", "image": "image:1", "env": [{"name": "A", "value": "1"}]},
        {"name": "side", "image": "side:1"},
    ]
    return {
        "metadata": {"name": "one"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


JOBS = resource("jobs", "Job", group="batch")
POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}


def job(**spec: object) -> Document:
    return {"metadata": {"name": "one"}, "spec": {"template": {"spec": POD}, **spec}}
