"""Pins by CRI-O's configuration: the file that is written, when not, and what is read back."""

import asyncio
import functools
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri import crio_config, pins_crio
from lading.adapters.cri.crio_config import CrioConfig
from lading.adapters.cri.pins_crio import CrioPins
from lading.embedded.cri.core import PINNED_LABEL, EmbeddedRuntime
from lading.kernel import platforms
from lading.ports import cri
from lading.ports.cri import ImageSpec, Pin, RecordedPin
from lading.ports.registry import Credential
from tests.adapters.kube.stand import HurryingClock
from tests.embedded.cri.memory_registry import MemoryRegistry


class Crio(EmbeddedRuntime):
    """Pins what the last file of its folder names, at a request to reload, as CRI-O does.

    An image has the names by which it was pulled; that it knows its digest too gives it no name.
    """

    release = "1.36.0"
    reloads = 0
    fails_to_reload = False

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.pulled_names.add(spec.image)
        return await super().pull(spec, credential)

    @functools.cached_property
    def pulled_names(self) -> set[str]:
        return set()

    async def version(self) -> cri.RuntimeVersion:
        return cri.RuntimeVersion(name="cri-o", version=self.release, api_version="v1")

    def read(self, folder: Path) -> None:
        if self.fails_to_reload:
            raise cri.Unavailable("CRI-O's process is gone; it cannot be reloaded")
        self.reloads += 1
        pinned: list[str] = []
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            image = tomllib.loads(file.read_text()).get("crio", {}).get("image", {})
            pinned = image.get("pinned_images", pinned)
        for name in self.labelled_names():
            is_pinned = name in pinned and name in self.pulled_names
            self.set_labels(name, dict([PINNED_LABEL]) if is_pinned else {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "etc" / "crio.conf.d"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def crio(tmp_path: Path, registry: MemoryRegistry) -> Iterator[Crio]:
    crio = Crio(
        root=tmp_path / "storage",
        registry=registry,
        clock=SystemClock(),
        platform=platforms.parse("linux/amd64"),
    )
    yield crio
    crio.close()


@pytest.fixture
def pins(crio: Crio, folder: Path) -> CrioPins:
    return new_driver(crio, folder)


def new_driver(crio: Crio, folder: Path) -> CrioPins:
    async def reload() -> None:
        crio.read(folder)

    return CrioPins(
        crio,
        config=CrioConfig(main_file=folder.parent / "crio.conf", drop_in_folder=folder),
        reload=reload,
        clock=HurryingClock(),
    )


async def pulled(crio: Crio, registry: MemoryRegistry, name: str, *owners: str) -> Pin:
    pin = await pulled_by_tag(crio, registry, name, *owners)
    await crio.pull(ImageSpec(image=pin.image))
    return pin


async def pulled_by_tag(crio: Crio, registry: MemoryRegistry, name: str, *owners: str) -> Pin:
    manifest = registry.add_image(f"{name}:1", layers=(name.encode(),))
    image_id = await crio.pull(ImageSpec(image=f"{name}:1"))
    return Pin(image=f"{name}@{manifest.digest}", image_id=image_id, owners=owners)


def files_in(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def written(folder: Path) -> list[str]:
    document = tomllib.loads((folder / crio_config.OUR_FILE).read_text())
    pinned: list[str] = document["crio"]["image"]["pinned_images"]
    return pinned


async def test_pins_are_written_read_back_and_survive_a_new_driver(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue", "green")
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)
    assert written(folder) == [pin.image]


async def test_the_same_pins_again_cost_no_write_and_no_reload(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    await pins.write([pin])
    assert crio.reloads == 1


async def test_a_pin_that_crio_forgot_is_shown_and_asked_for_again(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    for name in crio.labelled_names():
        crio.set_labels(name, {})
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=False),)
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_an_image_that_a_pod_pulled_by_its_tag_is_pinned_by_that_tag(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled_by_tag(crio, registry, "r.io/a", "blue")
    other = await pulled(crio, registry, "r.io/b", "blue")
    await pins.write([pin, other])
    assert await pins.recorded() == (
        RecordedPin(pin=pin, effective=True),
        RecordedPin(pin=other, effective=True),
    )
    assert written(folder) == ["r.io/a:1", pin.image, other.image]


async def test_a_tag_by_which_an_image_is_pinned_stays_while_other_pins_change(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry
) -> None:
    pin = await pulled_by_tag(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    other = await pulled(crio, registry, "r.io/b", "blue")
    reloads = crio.reloads
    await pins.write([pin, other])
    assert crio.reloads == reloads + 1
    assert all(recorded.effective for recorded in await pins.recorded())


async def test_a_tag_that_names_another_image_now_is_let_go(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled_by_tag(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    assert "r.io/a:1" in written(folder)
    registry.add_image("r.io/a:1", layers=(b"newer",))
    await crio.pull(ImageSpec(image="r.io/a:1"))
    await crio.pull(ImageSpec(image=pin.image))
    await pins.write([pin])
    assert written(folder) == [pin.image]
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_pins_of_other_files_stay_in_force_beside_ours(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    (folder / "10-early").write_text('[crio.image]\npinned_images = ["replaced"]\n')
    (folder / "20-late.toml").write_text('[crio.image]\npinned_images = ["r.io/theirs*"]\n')
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    assert written(folder) == [pin.image, "r.io/theirs*"]


async def test_pins_of_files_in_inner_folders_stay_in_force_too(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    (folder / "10-early").write_text('[crio.image]\npinned_images = ["replaced"]\n')
    (folder / "20-late").mkdir()
    (folder / "20-late" / "05.conf").write_text('[crio.image]\npinned_images = ["r.io/theirs"]\n')
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    assert written(folder) == [pin.image, "r.io/theirs"]


async def test_letting_everything_go_removes_the_file(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    await pins.write([])
    assert files_in(folder) == {}
    assert await pins.recorded() == ()
    assert not any(image.pinned for image in await crio.images())


async def test_nothing_but_the_finished_file_is_ever_in_the_folder(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    ours = f"{folder.name}/{crio_config.OUR_FILE}"
    assert list(files_in(folder.parent)) == [ours], "a temporary file was left behind"


async def test_an_image_that_is_not_there_gets_no_pin(pins: CrioPins, folder: Path) -> None:
    absent = Pin(image="r.io/b@sha256:0", image_id=f"sha256:{'0' * 64}", owners=("blue",))
    await pins.write([absent])
    assert await pins.recorded() == ()
    assert files_in(folder) == {}


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        (crio_config.OPENSHIFT_FILE, "", "machine-config-daemon"),
        (crio_config.OUR_FILE, "# mine\n", "not written by Lading"),
        ("zzz-last", '[crio.image]\npinned_images = ["x"]\n', "read after"),
        ("zzz/00-first", '[crio.image]\npinned_images = ["x"]\n', "read after"),
    ],
)
async def test_beside_another_manager_nothing_is_written_and_the_error_has_the_reason(
    pins: CrioPins,
    crio: Crio,
    registry: MemoryRegistry,
    folder: Path,
    file: str,
    content: str,
    reason: str,
) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(content)
    pin = await pulled(crio, registry, "r.io/a", "blue")
    with pytest.raises(cri.CannotPin, match=reason):
        await pins.write([pin])
    assert files_in(folder) == {file: content}
    refusal = await pins.cannot_pin()
    assert refusal is not None
    assert str(folder / file) in str(refusal)


@pytest.mark.parametrize("release", ["1.28.9", "1.29.6", "1.30.2"])
async def test_a_release_that_needs_a_restart_is_refused(
    pins: CrioPins, crio: Crio, release: str
) -> None:
    crio.release = release
    with pytest.raises(cri.CannotPin, match=release):
        await pins.write([])


async def test_a_drop_in_that_is_not_utf_8_is_named(pins: CrioPins, folder: Path) -> None:
    (folder / crio_config.OUR_FILE).write_bytes(b"\xff\xfe")
    refusal = await pins.cannot_pin()
    assert refusal is not None
    assert f"{folder / crio_config.OUR_FILE} exists and was not written by Lading" in str(refusal)


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff",
        f'{crio_config.RECORD_PREFIX}{{"x":{"[" * 100_000}'.encode(),
        b"x = " + b"[" * 100_000,
    ],
    ids=["no text", "a deep record", "a deep list"],
)
async def test_a_damaged_drop_in_of_ours_is_written_anew(
    crio: Crio, registry: MemoryRegistry, pins: CrioPins, folder: Path, damage: bytes
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "s")
    (folder / crio_config.OUR_FILE).write_bytes(crio_config.HEADER.encode() + damage)
    await pins.write([pin])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_an_unpin_is_repeated_when_the_reload_failed(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    kept, freed = [await pulled(crio, registry, f"r.io/{name}", "s") for name in ("a", "b")]
    await pins.write([kept, freed])
    crio.fails_to_reload = True
    with pytest.raises(cri.Unavailable):
        await pins.write([kept])
    again = new_driver(crio, folder)  # the agent died meanwhile
    assert await again.recorded() == (
        RecordedPin(pin=kept, effective=True),
        RecordedPin(pin=freed, effective=True, released=True),
    )
    crio.fails_to_reload = False
    await again.write([kept])
    assert await again.recorded() == (RecordedPin(pin=kept, effective=True),)
    assert await pinned_ids(crio) == {kept.image_id}


async def test_the_last_unpin_is_repeated_too(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "s")
    await pins.write([pin])
    crio.fails_to_reload = True
    with pytest.raises(cri.Unavailable):
        await pins.write([])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True, released=True),)
    crio.fails_to_reload = False
    await new_driver(crio, folder).write([])
    assert (await pins.recorded(), await pinned_ids(crio), files_in(folder)) == ((), set(), {})


async def test_an_unpin_that_crio_does_not_take_is_an_error(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a reload that stops at another option of the configuration."""
    pin = await pulled(crio, registry, "r.io/a", "s")
    await pins.write([pin])
    with monkeypatch.context() as deaf:
        deaf.setattr(crio, "read", lambda _folder: None)
        with pytest.raises(cri.CriError, match=f"still reports as pinned: {pin.image}"):
            await pins.write([])
    assert await pins.recorded() == (RecordedPin(pin=pin, effective=True, released=True),)


async def test_what_another_list_pins_too_is_let_go_all_the_same(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "s")
    theirs = folder / "10-theirs"
    theirs.write_text(f'[crio.image]\npinned_images = ["{pin.image}"]\n')
    await pins.write([pin])
    await pins.write([])
    assert await pins.recorded() == ()
    assert await pinned_ids(crio) == {pin.image_id}


async def test_the_unpin_of_an_image_that_has_gone_is_repeated(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    """It may be pulled again, and CRI-O would still pin its name."""
    pin = await pulled(crio, registry, "r.io/a", "s")
    await pins.write([pin])
    await crio.remove(ImageSpec(image=pin.image_id))
    crio.fails_to_reload = True
    with pytest.raises(cri.Unavailable):
        await pins.write([])
    reloads, crio.fails_to_reload = crio.reloads, False
    await new_driver(crio, folder).write([])
    assert crio.reloads == reloads + 1
    assert files_in(folder) == {}


async def test_the_drop_in_itself_records_what_is_ours(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    (folder / "10-theirs").write_text('[crio.image]\npinned_images = ["r.io/theirs"]\n')
    pin = await pulled_by_tag(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    elsewhere = new_driver(crio, folder)
    assert await elsewhere.recorded() == (RecordedPin(pin=pin, effective=True),)
    await elsewhere.write([])
    assert list(files_in(folder)) == ["10-theirs"]
    assert await pinned_ids(crio) == set()


async def test_pins_without_their_records_are_outdated_and_go(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    ours = folder / crio_config.OUR_FILE
    lines = ours.read_text().splitlines(keepends=True)
    ours.write_text("".join(one for one in lines if crio_config.RECORD_PREFIX not in one))
    assert await pins.recorded() == ()
    assert await pins.outdated()
    await pins.write([])
    assert files_in(folder) == {}
    assert await pinned_ids(crio) == set()


async def test_everything_can_be_taken_back_beside_another_manager(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    (folder / crio_config.OPENSHIFT_FILE).write_text("")
    await pins.write([])
    assert files_in(folder) == {crio_config.OPENSHIFT_FILE: ""}


async def test_a_file_of_ours_in_name_only_is_left_alone(pins: CrioPins, folder: Path) -> None:
    (folder / crio_config.OUR_FILE).write_text("# mine\n")
    assert not await pins.outdated()
    await pins.write([])
    assert files_in(folder) == {crio_config.OUR_FILE: "# mine\n"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, ["r.io/theirs"]),
        (["r.io/theirs"], ["r.io/other", "r.io/theirs"]),
        (["r.io/theirs"], []),
        (["r.io/theirs"], None),
    ],
    ids=["a first list", "one more", "an empty list", "no list"],
)
async def test_a_later_edit_of_another_list_is_followed(
    pins: CrioPins,
    crio: Crio,
    registry: MemoryRegistry,
    folder: Path,
    before: list[str] | None,
    after: list[str] | None,
) -> None:
    theirs = folder / "10-theirs"
    set_list(theirs, before)
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    assert not await pins.outdated()
    set_list(theirs, after)
    assert await pins.outdated()
    await pins.write([pin])
    assert not await pins.outdated()
    assert written(folder) == [pin.image, *(after or ())]


async def test_a_later_edit_of_another_list_is_put_in_force(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    ours = await pulled(crio, registry, "r.io/a", "blue")
    theirs = await pulled_by_tag(crio, registry, "r.io/b")
    await pins.write([ours])
    set_list(folder / "10-theirs", ["r.io/b:1"])
    await pins.write([ours])
    assert await pinned_ids(crio) == {ours.image_id, theirs.image_id}
    set_list(folder / "10-theirs", [])
    await pins.write([ours])
    assert await pinned_ids(crio) == {ours.image_id}


@pytest.mark.parametrize(
    ("lists", "kept"),
    [
        pytest.param({"../crio.conf": ["main"]}, ["main"], id="that of the main file"),
        pytest.param({"../crio.conf": ["main"], "10-a": ["a"]}, ["a"], id="a drop-in wins"),
        pytest.param({"10-a": ["a"], "20-b": ["b"]}, ["b"], id="the last one wins"),
        pytest.param({"10-a": ["a"], "20-b": []}, [], id="also when it is empty"),
        pytest.param({"10-a": ["a"], "20-b": None}, ["a"], id="not a file without one"),
        pytest.param({"10/z": ["inner"], "10-a": ["a"]}, ["a"], id="a folder stands at its name"),
        pytest.param({"10-a": ["a"], "20/z": ["inner"]}, ["inner"], id="a folder may be the last"),
    ],
)
async def test_the_list_in_force_without_ours_is_kept(
    pins: CrioPins,
    crio: Crio,
    registry: MemoryRegistry,
    folder: Path,
    lists: dict[str, list[str] | None],
    kept: list[str],
) -> None:
    for name, names in lists.items():
        (folder / name).parent.mkdir(exist_ok=True)
        set_list(folder / name, names)
    pin = await pulled(crio, registry, "r.io/a", "blue")
    await pins.write([pin])
    assert sorted(written(folder)) == sorted([pin.image, *kept])


async def test_a_tag_that_another_list_gave_up_is_not_kept_as_ours(
    pins: CrioPins, crio: Crio, registry: MemoryRegistry, folder: Path
) -> None:
    pin = await pulled(crio, registry, "r.io/a", "blue")
    set_list(folder / "10-theirs", ["r.io/a:1"])
    await pins.write([pin])
    set_list(folder / "10-theirs", [])
    await pins.write([pin])
    assert written(folder) == [pin.image]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("r.io/a:1", True),
        ("R.IO/A:1", True),
        ("r.io/a", False),
        ("io/a*", True),
        ("*o/a*", True),
        ("r.io/b*", False),
    ],
)
def test_another_list_is_compared_as_crio_does(folder: Path, pattern: str, fits: bool) -> None:
    set_list(folder / "10-theirs", [pattern])
    config = CrioConfig(main_file=folder.parent / "crio.conf", drop_in_folder=folder)
    image = cri.Image(id="1", size_bytes=0, repo_tags=("r.io/a:1",))
    assert config.is_pinned_by_others(image) is fits


def set_list(file: Path, names: list[str] | None) -> None:
    file.write_text("" if names is None else f"[crio.image]\npinned_images = {names}\n")


async def pinned_ids(crio: Crio) -> set[str]:
    return {image.id for image in await crio.images() if image.pinned}


REPORT_THE_SIGNAL = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
print("ready", flush=True)
signal.sigwait([signal.SIGHUP])
sys.exit("reloaded")
"""


async def started(*command: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def test_the_process_that_listens_on_the_socket_gets_the_signal(tmp_path: Path) -> None:
    listening = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.bind('{tmp_path}/s'); s.listen()\n"
    )
    process = await started(sys.executable, "-c", listening + REPORT_THE_SIGNAL)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    await pins_crio.by_signal(f"unix://{tmp_path}/s")()
    _, output = await process.communicate()
    assert output == b"reloaded\n"


async def test_a_socket_without_a_listener_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(cri.Unavailable, match="cannot connect to"):
        await pins_crio.by_signal(f"unix://{tmp_path}/absent")()
