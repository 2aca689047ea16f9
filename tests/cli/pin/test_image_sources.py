"""Which images lists and manifests name."""

import pytest

from lading.cli.documents import UnreadableDocument
from lading.cli.pin import image_sources

MANIFESTS = """
# Source: chart/templates/web.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      initContainers: [{name: i, image: "example.com/init:v1"}]
      containers: [{name: c, image: "example.com/web:v1", args: ["example.com/no/image"]}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: job}]}}}}}
---
# Source: chart/templates/empty.yaml
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {parts: [{image: "example.com/part:v1"}, {image: {name: x}}, {image: ""}]}
"""


def images(text: str) -> list[str]:
    return [one.image for one in image_sources.in_text("f", text).images]


@pytest.mark.parametrize(
    "text",
    [
        "registry.k8s.io/pause:3.10\nregistry.k8s.io/etcd:3.5.16-0\n",
        "# upgrade\n\nregistry.k8s.io/pause:3.10  # sandbox\r\n registry.k8s.io/etcd:3.5.16-0",
    ],
    ids=["kubeadm", "comments"],
)
def test_a_list_has_an_image_a_line(text: str) -> None:
    assert images(text) == ["registry.k8s.io/pause:3.10", "registry.k8s.io/etcd:3.5.16-0"]


def test_manifests_have_the_images_of_their_pod_templates() -> None:
    assert images(MANIFESTS) == ["example.com/init:v1", "example.com/web:v1", "job"]


def test_objects_with_fields_that_are_not_read_are_named() -> None:
    found = image_sources.in_text("f", MANIFESTS)
    assert found.unread == ("f: Widget w",)
    from_a_pipe = image_sources.in_text("-", MANIFESTS)
    assert from_a_pipe.unread == ("standard input: Widget w",)


def test_an_image_has_the_place_that_names_it() -> None:
    first, *_ = image_sources.in_text("f", MANIFESTS).images
    assert first.found_in == "f: Deployment shop/web"
    (line,) = image_sources.in_text("-", "busybox\n").images
    assert line.found_in == "standard input"


def test_json_in_one_line_is_a_manifest() -> None:
    text = '{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"image":"a"}]}}'
    assert images(text) == ["a"]


def test_text_that_is_neither_is_refused() -> None:
    with pytest.raises(UnreadableDocument):
        images("docker pull busybox\n")
