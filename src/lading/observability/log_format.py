"""The forms of a log."""

from enum import StrEnum


class LogFormat(StrEnum):
    JSON = "json"
    CONSOLE = "console"
