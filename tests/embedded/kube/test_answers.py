"""The form of an answer: the first clause of Accept that can be served."""

import pytest

from lading.embedded.kube import answers, status
from lading.embedded.kube.answers import Form

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form.OBJECT),
        ("*/*", Form.OBJECT),
        ("application/json", Form.OBJECT),
        (f"{TABLE},application/json", Form.TABLE),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Form.OBJECT),
        ("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form.METADATA),
    ],
)
def test_the_first_form_that_can_be_served_is(accept: str, form: Form) -> None:
    assert answers.form(accept) is form


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf"])
def test_a_form_that_cannot_be_served_is_refused(accept: str) -> None:
    with pytest.raises(status.ApiError) as caught:
        answers.form(accept)
    assert caught.value.code == 406
