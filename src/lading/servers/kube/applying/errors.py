"""What can go wrong with an apply: other managers own the fields, or it does not fit the schema.

ApplyError            the applied configuration cannot be read by the schema
ApplyConflict         other managers own fields that the apply would change
"""

import msgspec


class ApplyError(ValueError):
    """The applied configuration is not what the schema describes; the code is kube-apiserver's."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """One field of another manager; becomes a cause of reason FieldManagerConflict."""

    manager: str
    """As the API server writes it: the quoted name, and for updates the version."""
    field: str

    @property
    def message(self) -> str:
        return f"conflict with {self.manager}"

    reason = "FieldManagerConflict"


class ApplyConflict(Exception):
    """The apply would change fields that other managers own, and force was not given."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        self.causes = conflicts
        self.message = _message(conflicts)
        super().__init__(self.message)


def _message(conflicts: tuple[Conflict, ...]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.manager}: {only.field}"
    lines: list[str] = []
    for manager in dict.fromkeys(conflict.manager for conflict in conflicts):
        lines.append(f"conflicts with {manager}:")
        lines.extend(f"- {each.field}" for each in conflicts if each.manager == manager)
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
