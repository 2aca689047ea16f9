"""The form in which crictl writes images, on values."""

from typing import Any

import pytest

from lading.cli.image import crictl_form
from lading.ports.cri import Image, Inspection

NESTED = "[" * 100_000


@pytest.mark.parametrize(
    ("info", "shown"),
    [
        ({"info": '{"a": 1}'}, {"a": 1}),
        ({"info": "[1]"}, {"info": [1]}),
        ({"info": '{"a": 1}', "b": "2"}, {"info": {"a": 1}, "b": 2}),
        ({"info": "no JSON"}, {"info": "no JSON"}),
        ({"info": NESTED}, {"info": NESTED}),
    ],
    ids=["one object", "one list", "several", "text", "nested too deeply"],
)
def test_what_a_runtime_reports_is_shown_as_json_where_it_is_json(
    info: dict[str, str], shown: dict[str, Any]
) -> None:
    found = Inspection(image=Image(id="sha256:1", size_bytes=1), info=info)
    assert crictl_form.inspection(found)["info"] == shown
