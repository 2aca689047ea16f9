"""The committed message modules are what the `.proto` files say."""

from pathlib import Path

from lading.wire import generate


def test_the_generated_modules_are_not_stale(tmp_path: Path) -> None:
    generate.generate(tmp_path)
    made = sorted((tmp_path / "lading" / "wire").iterdir())
    assert made, "nothing was generated"
    for file in made:
        committed = generate.WIRE / file.name
        assert committed.read_bytes() == file.read_bytes(), (
            f"{file.name} is stale: run `python -m lading.wire.generate`"
        )
