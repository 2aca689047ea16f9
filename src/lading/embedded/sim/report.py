"""A failure for people: one page of text, and a timeline as an HTML file without scripts."""

import html

from lading.embedded.sim.simulation import Outcome
from lading.embedded.sim.trace import Event

LAST_EVENTS = 40
TIMELINE_EVENTS = 400
ROW_PIXELS = 18
LANE_PIXELS = 190
_COLOURS = {"kill": "#c0392b", "exit": "#c0392b", "start": "#27ae60", "step": "#8e44ad"}
_BORING = ("/leases/", "customresourcedefinitions/", " -> 404")


def page(outcome: Outcome, *, again: str) -> str:
    """The seed, the schedule, the last events and the broken promise."""
    last = [str(event) for event in told(outcome.events)[-LAST_EVENTS:]]
    return "\n".join(
        (
            f"Seed {outcome.seed} breaks a promise:",
            *(f"  {one}" for one in outcome.broken[:5]),
            "",
            f"The shortest schedule that still breaks it ({len(outcome.schedule)} steps):",
            *(f"  {step}" for step in outcome.schedule),
            "",
            "The last events:",
            *last,
            "",
            f"Run it again: {again}",
        )
    )


def told(events: tuple[Event, ...]) -> list[Event]:
    """Without what happens all the time, up to the broken promise."""
    found: list[Event] = []
    for event in events:
        is_read = event.kind == "request" and event.text.startswith("GET") and "200" in event.text
        if not is_read and not any(part in event.text for part in _BORING):
            found.append(event)
        if event.kind == "broken":
            break
    return found


def timeline(outcome: Outcome) -> str:
    """Processes are columns, time runs down; the broken promise is the last row."""
    events = told(outcome.events)[-TIMELINE_EVENTS:]
    lanes = list(dict.fromkeys(event.process for event in events))
    rows = "\n".join(_row(event, lanes.index(event.process), number, len(lanes))
                     for number, event in enumerate(events))  # fmt: skip
    heads = "".join(
        f'<text x="{_x(number)}" y="14" font-weight="bold">{html.escape(lane)}</text>'
        for number, lane in enumerate(lanes)
    )
    width, height = _x(len(lanes)) + 600, (len(events) + 3) * ROW_PIXELS
    broken = "<br>".join(html.escape(one) for one in outcome.broken[:5])
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Seed {html.escape(outcome.seed)}"
        f"</title><h1>Seed {html.escape(outcome.seed)}</h1><p>{broken}</p>"
        f'<svg width="{width}" height="{height}" font-family="monospace" font-size="11" role="img"'
        f' aria-label="Timeline">{heads}{rows}</svg></html>\n'
    )


def _x(lane: int) -> int:
    return 80 + lane * LANE_PIXELS


def _row(event: Event, lane: int, number: int, lanes: int) -> str:
    y = (number + 2) * ROW_PIXELS
    colour = _COLOURS.get(event.kind, "#2c3e50")
    text = html.escape(f"{event.kind} {event.text}"[:110])
    if event.kind == "broken":
        mark = f'<rect x="0" y="{y - 13}" width="{_x(lanes) + 600}" height="17" fill="#f9d6d5"/>'
        return f'{mark}<text x="80" y="{y}" fill="#c0392b" font-weight="bold">{text}</text>'
    return (
        f'<text x="0" y="{y}" fill="#888">{event.at_seconds:9.3f}</text>'
        f'<circle cx="{_x(lane) - 8}" cy="{y - 4}" r="4" fill="{colour}"/>'
        f'<text x="{_x(lane)}" y="{y}" fill="{colour}">{text}</text>'
    )
