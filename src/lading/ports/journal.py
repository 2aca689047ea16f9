"""Facts that never change once they are known, kept over restarts. Losing them costs only time."""

from collections.abc import Mapping
from typing import Any, Protocol


class Journal(Protocol):
    def entries(self) -> Mapping[str, Any]: ...

    def put(self, key: str, value: Any) -> None: ...
