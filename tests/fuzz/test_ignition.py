"""Any stub of a machine set is prepared or refused, and a refusal shows nothing of it."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lading.boot_images.ignition import stub
from lading.boot_images.ignition.findings import Unreadable
from tests.boot_images.ignition import stubs
from tests.fuzz import harness, inputs

BUNDLE = stubs.certificate("server")
AUTHORITY = stubs.data_url(stubs.certificate("old"))
SECTIONS: dict[str, Any] = {
    "passwd": {
        "users": [
            {
                "name": "core",
                "passwordHash": stubs.MARKER,
                "sshAuthorizedKeys": [stubs.MARKER],
                "create": {"uid": 1000, "groups": ["wheel"]},
            }
        ],
        "groups": [{"name": "wheel", "gid": 10}],
    },
    "storage": {
        "disks": [
            {
                "device": "/dev/sda",
                "wipeTable": True,
                "partitions": [{"number": 1, "size": 2048, "start": 2048, "label": "a"}],
            }
        ],
        "raid": [{"name": "md0", "level": "raid1", "devices": ["/dev/sda", "/dev/sdb"]}],
        "filesystems": [
            {"name": "data", "mount": {"device": "/dev/sda1", "format": "xfs", "label": "data"}}
        ],
        "files": [
            stubs.file(contents={"source": "data:,a%20b", "verification": {"hash": stubs.SHA512}})
        ],
        "directories": [{"filesystem": "root", "path": "/etc/b", "mode": 493}],
        "links": [{"filesystem": "root", "path": "/etc/c", "target": "/etc/a"}],
    },
    "systemd": {
        "units": [
            {
                "name": "a.service",
                "enable": True,
                "contents": "[Unit]\nDescription=a\n",
                "dropins": [{"name": "b.conf", "contents": "[Service]\nRestart=always\n"}],
            }
        ]
    },
}
STUBS = st.sampled_from(
    [
        stubs.spec_2("2.4.0", ca=AUTHORITY, **SECTIONS),
        stubs.spec_2(ca=AUTHORITY),
        stubs.spec_3(ca=AUTHORITY),
    ]
).flatmap(inputs.documents)


def large(**sections: Any) -> bytes:
    return json.dumps(stubs.config(**sections)).encode()


@given(source=inputs.mangled(STUBS.map(inputs.as_json)))
@example(source=large(storage={"files": [stubs.file(f"/{'a/' * 250}{n}") for n in range(1_500)]}))
@example(source=large(storage={"files": [stubs.file(f"/etc/{n}") for n in range(10_000)]}))
@example(source=large(systemd={"units": [{"name": f"{n}.service"} for n in range(20_000)]}))
@example(
    source=large(
        storage={
            "disks": [
                {
                    "device": "/dev/sda",
                    "partitions": [{"number": n, "size": 1, "start": n} for n in range(15_000)],
                }
            ]
        }
    )
)
@example(source=json.dumps(stubs.spec_3(ca="data:;base64," + "A" * 700_000)).encode())
@example(source=json.dumps(stubs.spec_3(ca="data:," + "%2D" * 200_000)).encode())
@example(
    source=large(storage={"files": [stubs.file(contents={"source": "data:," + "%" * 900_000})]})
)
def test_any_stub_is_prepared_or_refused(source: bytes) -> None:
    harness.check(lambda: _prepared(source), refusals=(Unreadable,))


def _prepared(source: bytes) -> None:
    try:
        found = stub.prepare(source, bundle=BUNDLE, now=stubs.NOW)
    except Unreadable as error:
        assert stubs.MARKER not in str(error)
        raise
    if found.data is not None:
        again = stub.prepare(found.data, bundle=BUNDLE, now=stubs.NOW)
        assert again.data is None, "what was prepared needs no more changes"
