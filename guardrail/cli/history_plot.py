"""A picture of anchors over time, as SVG."""

from collections.abc import Iterator, Sequence
from datetime import date
from html import escape

from guardrail.cli.anchor_lines import Line, Step

_WIDTH = 900
_LEFT = 90
_RIGHT = 30
_PANEL = 220
_TOP = 46
_HEADING = 30
_PLOT_HEIGHT = 130
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.head{font-weight:bold}.faint{fill:#777;font-size:10px}"
    ".step{stroke:#4878a8;stroke-width:2;fill:none}.mark{fill:#4878a8}.axis{stroke:#ccc}"
)


def svg(title: str, lines: Sequence[Line]) -> str:
    """Draw one panel for each metric and profile: steps from one anchor to the next.

    Args:
        title: The guard's id.
        lines: Its anchors, one line or more.
    """
    height = _TOP + _PANEL * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text class="head" x="{_LEFT}" y="24">{escape(title)}</text>',
    ]
    for number, line in enumerate(lines):
        parts += _panel(line, _TOP + _PANEL * number)
    return "\n".join([*parts, "</svg>\n"])


def _panel(line: Line, top: int) -> Iterator[str]:
    values = [step.anchor.value for step in line.steps]
    days = [date.fromisoformat(step.since).toordinal() for step in line.steps]
    base = top + _HEADING + _PLOT_HEIGHT
    name = f"{line.metric} ({line.profile})" if line.profile else line.metric
    yield f'<text x="{_LEFT}" y="{top + 12}">{escape(name)}</text>'
    yield f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{_WIDTH - _RIGHT}" y2="{base}"/>'
    at = [(_across(day, days), base - _up(value, values)) for day, value in zip(days, values, strict=True)]
    path = f"M{at[0][0]:.1f} {at[0][1]:.1f}"
    path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in at[1:]) + f"H{_WIDTH - _RIGHT}"
    yield f'<path class="step" d="{path}"/>'
    for (x, y), step in zip(at, line.steps, strict=True):
        yield from _mark(x, y, base, step)


def _mark(x: float, y: float, base: int, step: Step) -> Iterator[str]:
    change = "" if step.change is None else f" {step.change:+.2%}"
    label = f"{step.anchor.value}{change} {step.anchor.class_}"
    yield f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
    yield f"<title>{escape(step.anchor.reason)} (commit {step.anchor.commit})</title></circle>"
    yield f'<text x="{x + 5:.1f}" y="{y - 6:.1f}">{escape(label)}</text>'
    yield f'<text class="faint" x="{x:.1f}" y="{base + 14}">{step.since}</text>'


def _across(day: int, days: Sequence[int]) -> float:
    """Place a day; anchors of one day stand side by side only as far as days tell them apart."""
    room = (_WIDTH - _LEFT - _RIGHT) * 0.75
    return _LEFT + room * (day - days[0]) / max(1, days[-1] - days[0])


def _up(value: float, values: Sequence[float]) -> float:
    """Place a value above the axis; all equal ones in the middle."""
    low, high = min(values), max(values)
    share = (value - low) / (high - low) if high > low else 0.5
    return _PLOT_HEIGHT * (0.1 + 0.75 * share)
