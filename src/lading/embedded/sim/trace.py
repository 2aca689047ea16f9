"""What happened, in order: the events of a run, their hash, and a page of the last ones."""

import hashlib
from collections import deque

import msgspec

EVENTS_KEPT = 4000


class Event(msgspec.Struct, frozen=True):
    at_seconds: float
    process: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.at_seconds:10.3f}  {self.process:<18} {self.kind:<9} {self.text}"


class Trace:
    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self.count = 0

    def add(self, at_seconds: float, process: str, kind: str, text: str) -> None:
        event = Event(at_seconds, process, kind, text)
        self.events.append(event)
        self.count += 1
        self._hash.update(f"{at_seconds:.9f} {process} {kind} {text}\n".encode())

    def digest(self) -> str:
        return self._hash.hexdigest()
