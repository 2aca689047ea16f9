"""What goes into the image is locked: the base by digest, packages by hash, the build offline."""

import re
from pathlib import Path

from tests.deploy import manifests

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").splitlines()
BY_DIGEST = re.compile(r"ARG BASE=\S+@sha256:[0-9a-f]{64}")


def test_the_one_base_is_named_by_digest() -> None:
    assert sum(bool(BY_DIGEST.fullmatch(line)) for line in LINES) == 1
    first, *others, last = [line.split()[1:] for line in LINES if line.startswith("FROM ")]
    assert first == ["${BASE}", "AS", "base"]
    assert {words[0] for words in others} == {"base"}
    assert last == ["scratch"], "the image has neither the shell nor the pip of the base"


def test_the_last_stage_runs_lading_as_the_user_of_the_pods() -> None:
    last = max(index for index, line in enumerate(LINES) if line.startswith("FROM "))
    (user,) = (line for line in LINES if line.startswith("USER "))
    assert LINES.index(user) > last
    (pod,) = (one for one in manifests.base() if one["kind"] == "Deployment")
    context = pod["spec"]["template"]["spec"]["securityContext"]
    assert user == f"USER {context['runAsUser']}:{context['runAsGroup']}"
    assert LINES[-1] == 'ENTRYPOINT ["lading"]'


def test_pip_takes_nothing_that_is_not_locked() -> None:
    calls = [line for line in LINES if re.search(r"\bpip (install|wheel)\b", line)]
    assert len(calls) == 3
    for line in calls:
        locked = "--require-hashes --only-binary :all: -r" in line
        offline = "--no-index --no-deps" in line
        assert locked or offline, line
    (own,) = (line for line in calls if line.endswith(" /source"))
    assert "--no-build-isolation" in own


def test_the_lock_of_the_build_has_hashes() -> None:
    text = (ROOT / "requirements" / "build.txt").read_text(encoding="utf-8")
    assert "hatchling==" in text
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in block


def test_the_image_has_the_packages_of_the_extras() -> None:
    assert any(line.endswith("-r /source/image.txt") for line in LINES)
    runtime, image = (
        set(re.findall(r"^\S+==\S+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("runtime.txt", "image.txt")
    )
    assert {"botocore", "numpy", "obstore"} <= {one.partition("==")[0] for one in image - runtime}
    assert runtime <= image
