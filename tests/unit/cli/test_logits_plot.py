from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from guardrail.cli.logits_plot import panel_of, svg, write_plot

SVG = "{http://www.w3.org/2000/svg}"


def bars(picture: str) -> list[tuple[float, float]]:
    root = ElementTree.fromstring(picture)
    found = [node for node in root.iter(f"{SVG}rect") if node.get("class") == "delta"]
    return [(float(node.get("x", "")), float(node.get("height", ""))) for node in found]


def test_a_delta_is_a_bar_at_its_place_in_the_vocabulary_and_of_its_height() -> None:
    one, other = np.zeros(4, np.float32), np.array([0, 1, 0, -0.5], np.float32)
    picture = svg("b - a", [panel_of("sequence 0", one, other)])
    # The plot is 890 wide from 90 on, and 75 high on either side of zero.
    assert bars(picture) == [(312.5, 75.0), (757.5, 37.5)]


def test_equal_logits_are_a_bare_axis() -> None:
    assert bars(svg("b - a", [panel_of("sequence 0", np.ones(4), np.ones(4))])) == []


def test_a_large_vocabulary_is_drawn_by_stretches() -> None:
    panel = panel_of("sequence 0", np.zeros(152_064, np.float32), np.ones(152_064, np.float32))
    assert (len(panel.ranges), panel.vocabulary) == (890, 152_064)


def test_names_are_escaped_and_a_page_holds_the_picture(tmp_path: Path) -> None:
    panel = panel_of("<b>", np.zeros(2, np.float32), np.ones(2, np.float32))
    write_plot(tmp_path / "a.html", "a & b", [panel])
    page = (tmp_path / "a.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<title>a &amp; b</title>" in page
    assert "&lt;b&gt;" in page
