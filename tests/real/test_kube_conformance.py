"""The suite of Kubernetes API behaviours: on a real kube-apiserver, and embedded over TLS."""

import pytest

from tests.conformance.kube import targets
from tests.real import suites
from tests.real.bed import api_server, control_plane, sandbox


@pytest.mark.components("kube")
def test_the_suite_passes_but_for_the_known_differences() -> None:
    with sandbox.sandbox() as place:
        server = api_server.start(place)
        control_plane.start(place, server)
        settings = {
            targets.KUBECONFIG_VARIABLE: str(server.kubeconfig_path),
            targets.ETCD_VARIABLE: server.etcd_url,
        }
        suites.check("kube", settings)


def test_the_suite_passes_on_the_embedded_server_over_tls_with_sqlite() -> None:
    suites.check("kube", {targets.TARGET_VARIABLE: "http"})
