"""CustomResourceDefinitions: the order of their versions."""

from lading.embedded.kube import definitions


def test_versions_are_ordered_as_kubernetes_prefers_them() -> None:
    names = ["v1alpha1", "v2", "other", "v1", "v1beta2", "v10", "v1beta10"]
    ordered = sorted(names, key=definitions.version_rank)
    assert ordered == ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "other"]
