"""`lading up` continues with the data of an earlier release: nothing pinned is lost."""

import base64
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.cli import up_process

RECORDED = Path(__file__).parents[1] / "golden" / "upgrade" / "up.json"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, content in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_text(content, encoding="utf-8")
        elif "base64" in content:
            file.write_bytes(base64.b64decode(content["base64"]))
        else:
            write_database(file, **content)
    tmp_path.chmod(0o700)
    return tmp_path


def write_database(file: Path, *, schema: list[str], rows: dict[str, list[list[Any]]]) -> None:
    with sqlite3.connect(file) as database:
        for statement in schema:
            database.execute(statement)
        for table, values in rows.items():
            for row in values:
                if table == "changes":
                    row[-1] = row[-1].encode()
                places = ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} VALUES ({places})", row)
    database.close()


async def test_what_was_pinned_stays_and_the_ages_of_images_are_known(data: Path) -> None:
    """The registry is empty now, so an image that was lost could not be pulled again."""
    async with up_process.up(data):
        cluster = f"--kubeconfig={data / 'kubeconfig'}"
        found = await command.lading("get", "pinnedimageset", "kept", "-o", "json", cluster)
        kept = json.loads(found.output)
        again = {**kept, "metadata": {"name": "again", "labels": kept["metadata"]["labels"]}}
        (data / "again.json").write_text(json.dumps(again), encoding="utf-8")
        applied = await command.lading("apply", "-f", str(data / "again.json"), cluster)
        assert applied.code == 0, applied.errors
        waited = await command.lading("pin", "wait", "kept", "again", "--timeout=60s", cluster)
        assert waited.code == 0, waited.errors

        node = data / "nodes" / "node-1"
        place = (f"--runtime-endpoint=unix://{node}/runtime.sock", f"--state-dir={node}")
        plan = await command.lading("image", "gc", "--all", "-o", "json", *place)
    assert "it is pinned" in plan.output
    assert "TooYoung" not in plan.output, plan.output
