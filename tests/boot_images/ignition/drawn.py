"""Stubs of specification 2 drawn at random: every section, with duplicates and near misses."""

from typing import Any

from hypothesis import strategies as st

VERSIONS = st.sampled_from(["2.0.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0"])
SOURCES = st.sampled_from(
    [
        "data:,hello",
        "data:text/plain;charset=utf-8;base64,aGVsbG8=",
        "https://example.com/a",
        "https://example.com/b",
        "http://example.com/a",
        "s3://bucket/a",
        "s3://bucket/a?versionId=1",
        "tftp://example.com/a",
        "oem:///a",
        "",
    ]
) | st.builds(
    "".join,
    st.lists(
        st.sampled_from(
            [
                "http",
                "https",
                "s3",
                "data",
                "text/plain",
                "utf-8",
                "base64",
                "aGVsbG8=",
                "a",
                "1",
                *list(':/;,=?#@%[] \\"<^|~'),
                "//",
                "%41",
                "::1",
                "ü",
                "\n",
                "versionId=",
            ]
        ),
        max_size=9,
    ),
)
"""Known URLs, and texts made of the pieces of URLs."""
HASHES: st.SearchStrategy[Any] = st.sampled_from([{"hash": f"sha512-{'0' * 128}"}, {}])
NAMES = st.sampled_from(["a", "b", "core"])
PATHS = st.sampled_from(
    ["/a", "/a/b", "/ab", "/var/a", "/opt//c", "/opt/./c", "/etc/systemd/system/a.service"]
)
SYSTEMS = st.sampled_from(["root", "root", "root", "/var", "opt", "gone"])
DEVICES = st.sampled_from(
    ["/dev/sda", "/dev/sdb", "/dev//sdb", "/dev/./sdc/", "/dev/../sdd", "/dev/disk/by-label/x"]
)
HEADERS = st.fixed_dictionaries({"name": NAMES, "value": st.sampled_from(["", "x", "y"])})
PROXIES = st.sampled_from(["proxy.corp:3128", "10.0.0.1:80", "http://p", "socks5://p", "p q", ""])
CONTENTS_OF_UNITS = st.builds(
    "".join,
    st.lists(
        st.sampled_from(
            ["[Unit]", "\n", "A=b", "\\", "#", ";", " ", "]", "[", "x", "\r", "\x1c", "\u2028"]
        ),
        max_size=10,
    ),
)
GUIDS = st.sampled_from(["", "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709", "nonsense"])
OWNERS = st.sampled_from([{"id": 0}, {"id": 1000}, {"name": "core"}, {}])


def some(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


RESOURCES = some(
    {"source": SOURCES}, verification=HASHES, httpHeaders=st.lists(HEADERS, max_size=2)
)
CONTENTS = some(
    {},
    source=SOURCES,
    compression=st.sampled_from(["", "gzip"]),
    verification=HASHES,
    httpHeaders=st.lists(HEADERS, max_size=2),
)
NODE = {"filesystem": SYSTEMS, "path": PATHS}
FILES = some(
    NODE,
    contents=CONTENTS,
    mode=st.sampled_from([0, 0o644, 0o755, 0o4755, 0o1777]),
    append=st.booleans(),
    overwrite=st.booleans(),
    user=OWNERS,
    group=OWNERS,
)
DIRECTORIES = some(NODE, mode=st.sampled_from([0o755, 0o1777]), overwrite=st.booleans())
LINKS = some({**NODE, "target": PATHS}, hard=st.booleans(), overwrite=st.booleans())
SIZES = st.sampled_from([0, 1, 100, -1])
PARTITIONS = some(
    {"number": st.integers(0, 3)},
    label=st.sampled_from(["", "root", "data"]),
    sizeMiB=SIZES,
    startMiB=SIZES,
    typeGuid=GUIDS,
    guid=GUIDS,
    shouldExist=st.booleans(),
    wipePartitionEntry=st.booleans(),
)
DISKS = some(
    {"device": DEVICES}, wipeTable=st.booleans(), partitions=st.lists(PARTITIONS, max_size=3)
)
ARRAYS = some(
    {
        "name": NAMES,
        "level": st.sampled_from(["raid1", "raid0", "stripe", "raid5"]),
        "devices": st.lists(DEVICES, max_size=3),
    },
    spares=st.integers(0, 1),
    options=st.just(["--x"]),
)
MOUNTS = some(
    {"device": DEVICES, "format": st.sampled_from(["ext4", "xfs", "btrfs", "vfat", "swap"])},
    wipeFilesystem=st.booleans(),
    label=st.sampled_from(["", "root", "a-label-too-long"]),
    uuid=st.just("0d8cd5d5-5b1a-4bd1-8bb2-e7f6a9c4b0a2"),
    options=st.just(["-x"]),
    create=some({}, force=st.booleans(), options=st.just(["-y"])),
)
FILESYSTEMS = some({"name": SYSTEMS, "mount": MOUNTS}) | some(
    {"name": SYSTEMS, "path": st.sampled_from(["/sysroot", "/sysroot/opt"])}
)
UNITS = some(
    {"name": st.sampled_from(["a.service", "b.mount", "a@.service", "c.txt"])},
    enable=st.booleans(),
    enabled=st.booleans(),
    mask=st.booleans(),
    contents=st.sampled_from(["", "[Unit]\nDescription=a\n", "[Service]\nExecStart=/a\n", "[x"])
    | CONTENTS_OF_UNITS,
    dropins=st.lists(
        some({"name": st.sampled_from(["1.conf", "2.conf"])}, contents=st.just("[Unit]\n")),
        max_size=2,
    ),
)
USERS = some(
    {"name": NAMES},
    passwordHash=st.just("$6$x"),
    sshAuthorizedKeys=st.lists(st.sampled_from(["ssh-rsa 1", "ssh-rsa 2"]), max_size=3),
    uid=st.sampled_from([1000, 2**63 - 1, 2**63]),
    gecos=st.just("g"),
    homeDir=st.just("/home/a"),
    groups=st.lists(NAMES, max_size=2),
    system=st.booleans(),
    create=some({}, uid=st.just(1001), noCreateHome=st.booleans(), groups=st.lists(NAMES)),
)
GROUPS = some({"name": NAMES}, gid=st.just(1000), system=st.booleans())


def lists(entries: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly short: each entry may be what makes a stub untranslatable."""
    return st.lists(entries, max_size=2)


STUBS = st.builds(
    lambda version, config, authorities, proxy, **sections: {
        "ignition": {
            "version": version,
            "config": config,
            "proxy": proxy,
            "security": {"tls": {"certificateAuthorities": authorities}},
        },
        **sections,
    },
    VERSIONS,
    some({}, append=lists(RESOURCES), replace=RESOURCES),
    lists(RESOURCES),
    some(
        {},
        httpProxy=PROXIES,
        httpsProxy=PROXIES,
        noProxy=st.lists(st.sampled_from(["a", "b"]), max_size=3),
    ),
    storage=some(
        {},
        files=lists(FILES),
        directories=lists(DIRECTORIES),
        links=lists(LINKS),
        disks=lists(DISKS),
        raid=lists(ARRAYS),
        filesystems=lists(FILESYSTEMS),
    ),
    systemd=some({}, units=lists(UNITS)),
    passwd=some({}, users=lists(USERS), groups=lists(GROUPS)),
)
