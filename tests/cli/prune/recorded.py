"""Files that an earlier release of the pruner wrote; their README says how."""

import base64
import json
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "golden" / "pruning" / "upgrade"
DIGESTS = {
    "old": "sha256:e1a6daadc568bba88a3fd4b8ce94d0a8b659e5d97efa652d9d2bb6ef01b7f17d",
    "deleted": "sha256:7d3331a1d1cc3af49c5c305c8d42f8f3c3c327ff7ca98d73c403f7b091994e62",
    "stuck": "sha256:88096113b4882522d2aae0ac7cba6db4f4be1113953b026371061acb1665428d",
    "condemned blob": "sha256:88f6811ab5d8fc6d3177f9b7609ae0fcebfda187e5046b62d38bb539e88b74d7",
}


def write_storage(root: Path) -> None:
    for name, content in json.loads((FOLDER / "registry.json").read_text()).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_text(content)
        else:
            file.write_bytes(base64.b64decode(content["base64"]))


def write_state(folder: Path, *, host: str) -> None:
    own = folder / host
    own.mkdir(parents=True)
    for name in ("ledger.json", "manifests"):
        (own / name).write_bytes((FOLDER / name).read_bytes())


def write_text(file: Path, *, host: str) -> Path:
    """Writes the recorded file of this name for a registry at this address."""
    file.write_text((FOLDER / file.name).read_text().replace("HOST", host))
    return file
