"""A picture of two dumps' difference by vocabulary index, as SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.cli.files import write_whole
from guardrail.logits.difference import delta_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WIDTH = 1000
_LEFT = 90
_RIGHT = 20
_TOP = 44
_PANEL = 210
_PLOT_HEIGHT = 150
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.head{font-weight:bold}.faint{fill:#777;font-size:10px}"
    ".delta{fill:#4878a8}.axis{stroke:#999}"
)
_ROOM = _WIDTH - _LEFT - _RIGHT


@dataclass(frozen=True, slots=True)
class Panel:
    """One row of logits: the range of its delta in each stretch of the vocabulary."""

    title: str
    vocabulary: int
    ranges: tuple[tuple[float, float], ...]


def panel_of(title: str, one: "NDArray[Any]", other: "NDArray[Any]") -> Panel:
    """Prepare a panel of ``other - one``, one stretch for each point of the picture's width."""
    return Panel(title, one.size, tuple(delta_ranges(one, other, _ROOM)))


def write_plot(path: Path, title: str, panels: Sequence[Panel]) -> None:
    """Write the picture, as SVG or as a page that holds it, by the file's suffix.

    Raises:
        UsageError: The file cannot be written.
    """
    picture = svg(title, panels)
    if path.suffix == ".html":
        picture = f'<!doctype html><meta charset="utf-8"><title>{escape(title)}</title>\n{picture}'
    write_whole(path, picture, "--plot")


def svg(title: str, panels: Sequence[Panel]) -> str:
    """Draw one panel below the other, all on one scale."""
    height = _TOP + _PANEL * len(panels)
    largest = max((max(abs(low), abs(high)) for panel in panels for low, high in panel.ranges), default=0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}"><style>{_STYLE}</style>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text class="head" x="{_LEFT}" y="24">{escape(title)}</text>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, _TOP + _PANEL * number, largest)
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, top: int, largest: float) -> Iterator[str]:
    half = _PLOT_HEIGHT / 2
    middle = top + 20 + half
    yield f'<text x="{_LEFT}" y="{top + 10}">{escape(panel.title)}</text>'
    for value, y in ((largest, middle - half), (0.0, middle), (-largest, middle + half)):
        yield f'<text class="faint" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    step = _ROOM / len(panel.ranges)
    scale = half / largest if largest else 0.0
    for position, (low, high) in enumerate(panel.ranges):
        if low or high:
            y, tall = middle - max(high, 0.0) * scale, (max(high, 0.0) - min(low, 0.0)) * scale
            yield (
                f'<rect class="delta" x="{_LEFT + position * step:.1f}" y="{y:.1f}" '
                f'width="{max(step, 1.0):.1f}" height="{max(tall, 0.5):.1f}"/>'
            )
    yield f'<path class="axis" d="M{_LEFT} {middle:.1f}h{_ROOM}"/>'
    for index, x in ((0, _LEFT), (panel.vocabulary - 1, _LEFT + _ROOM)):
        yield f'<text class="faint" x="{x}" y="{middle + half + 14:.1f}" text-anchor="middle">{index}</text>'
