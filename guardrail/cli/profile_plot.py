"""A picture of a profile: time by kernel, and how the calls of each are distributed.

Written as SVG by hand: bars and ticks need no plotting library, which would be the heaviest dependency.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from guardrail.cli.files import write_whole
from guardrail.cli.profile_figures import duration, percent, printable, short_name
from guardrail.errors import UsageError
from guardrail.records.launch import Trace
from guardrail.traces.summary import Row

_WIDTH = 1100
_ROW_HEIGHT = 34
_TOP = 64
_NAME_WIDTH = 380
_BAR_WIDTH = 260
_GAP = 16
_TOTAL_WIDTH = 130
_STRIP_LEFT = _NAME_WIDTH + _GAP + _BAR_WIDTH + _TOTAL_WIDTH + _GAP
_STRIP_WIDTH = _WIDTH - _STRIP_LEFT - _GAP
_BINS = 40
_NAME_CHARACTERS = 52
_SUFFIXES = (".svg", ".html")
_STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#222}.head{font-weight:bold}.faint{fill:#777;font-size:10px}"
    ".bar{fill:#4878a8}.bin{fill:#4878a8}.median{stroke:#b03030;stroke-width:1.5}.axis{stroke:#ccc}"
)


def check_plot_file(path: Path) -> None:
    """Refuse a file that no picture can be written to, before anything is run for it.

    Raises:
        UsageError: Its suffix is not known, or there is no such folder.
    """
    if path.suffix not in _SUFFIXES:
        raise UsageError(f"--plot {path}: expected a name that ends with {' or '.join(_SUFFIXES)}")
    if not path.parent.is_dir():
        raise UsageError(f"--plot {path}: there is no folder {path.parent}")


def write_plot(path: Path, rows: Sequence[Row], trace: Trace) -> None:
    """Write the picture, as SVG or as a page that holds it, by the file's suffix.

    Raises:
        UsageError: The file cannot be written.
    """
    picture = svg(rows, trace)
    if path.suffix == ".html":
        title = escape(printable(trace.source))
        picture = f'<!doctype html><meta charset="utf-8"><title>{title}</title>\n{picture}'
    write_whole(path, picture, "--plot")


def svg(rows: Sequence[Row], trace: Trace) -> str:
    """Draw one line a row: its name, a bar of its total, and a histogram of its calls."""
    height = _TOP + _ROW_HEIGHT * len(rows) + _GAP
    longest = max((row.total_ns for row in rows), default=0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}"><style>{_STYLE}</style>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        _text(_GAP, 24, printable(trace.source), "head"),
        _text(_GAP, _TOP - 16, "name", "faint"),
        _text(_NAME_WIDTH + _GAP, _TOP - 16, "total, share of GPU time", "faint"),
        _text(_STRIP_LEFT, _TOP - 16, "calls from min to max, red: median", "faint"),
    ]
    for position, row in enumerate(rows):
        parts += _row(row, _TOP + position * _ROW_HEIGHT, longest)
    return "\n".join([*parts, "</svg>\n"])


def _row(row: Row, top: float, longest: float) -> Iterator[str]:
    middle = top + _ROW_HEIGHT / 2
    name = _text(_GAP, middle, short_name(row, _NAME_CHARACTERS))
    yield f"<g><title>{escape(printable(row.name))}</title>{name}</g>"
    width = _BAR_WIDTH * row.total_ns / longest if longest else 0.0
    left = _NAME_WIDTH + _GAP
    yield f'<rect class="bar" x="{left}" y="{top + 5:.1f}" width="{width:.1f}" height="{_ROW_HEIGHT - 18}"/>'
    yield _text(left + width + 6, middle, f"{duration(row.total_ns)} {percent(row.share)}")
    yield from _histogram(row, top)


def _histogram(row: Row, top: float) -> Iterator[str]:
    """Draw how many calls took how long; a row of one length is one tick."""
    if row.median_ns is None or row.min_ns is None or row.max_ns is None:
        yield _text(_STRIP_LEFT, top + _ROW_HEIGHT / 2, "only sums are known", "faint")
        return
    floor, height = top + _ROW_HEIGHT - 13, _ROW_HEIGHT - 18
    yield f'<path class="axis" d="M{_STRIP_LEFT} {floor:.1f}h{_STRIP_WIDTH}"/>'
    span = row.max_ns - row.min_ns
    counts = [0] * _BINS
    for sample in row.durations_ns if span else ():
        counts[min(_BINS - 1, math.floor((sample - row.min_ns) / span * _BINS))] += 1
    step = _STRIP_WIDTH / _BINS
    for position, count in enumerate(counts):
        if count:
            tall = height * count / max(counts)
            yield (
                f'<rect class="bin" x="{_STRIP_LEFT + position * step:.1f}" y="{floor - tall:.1f}" '
                f'width="{step - 0.5:.1f}" height="{tall:.1f}"/>'
            )
    at = _STRIP_LEFT + _STRIP_WIDTH * ((row.median_ns - row.min_ns) / span if span else 0.0)
    yield f'<path class="median" d="M{at:.1f} {floor - height:.1f}v{height}"/>'
    yield _text(_STRIP_LEFT, floor + 10, duration(row.min_ns), "faint")
    if span:
        yield _text(_STRIP_LEFT + _STRIP_WIDTH, floor + 10, duration(row.max_ns), "faint", "end")


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
