import xml.etree.ElementTree as ET

import pytest

from guardrail.cli.profile_plot import check_plot_file, svg, write_plot
from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.traces.summary import summarise

SVG = "{http://www.w3.org/2000/svg}"
TRACE = Trace(
    "kineto",
    "<script>&.json",
    (
        *(Launch("void f<a, b>(x&)", WorkKind.KERNEL, float(ns)) for ns in (100, 100, 100, 180, 500)),
        Launch("Memset", WorkKind.FILL, 245.0),
        Launch("sums", WorkKind.KERNEL, 98.0, calls=2),
    ),
)


def _drawn():
    return ET.fromstring(svg(summarise(TRACE), TRACE))


def _bars(root, style):
    return [element for element in root.iter(f"{SVG}rect") if element.get("class") == style]


def test_bars_are_as_long_as_totals():
    assert [float(bar.get("width")) for bar in _bars(_drawn(), "bar")] == [260.0, 65.0, 26.0]


def test_samples_are_counted_in_bins_from_the_shortest_to_the_longest_call():
    first, second, third = _bars(_drawn(), "bin")
    heights = [float(it.get("height")) for it in (first, second, third)]
    assert heights == [16.0, pytest.approx(16 / 3, abs=0.1), pytest.approx(16 / 3, abs=0.1)]
    steps = [(float(it.get("x")) - float(first.get("x"))) for it in (second, third)]
    assert steps[0] / steps[1] == pytest.approx(8 / 39, abs=0.01)


def test_names_are_escaped_and_the_whole_name_is_kept_as_a_title():
    root = _drawn()
    assert next(title.text for title in root.iter(f"{SVG}title")) == "void f<a, b>(x&)"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<script>&.json" in texts
    assert "only sums are known" in texts


def test_a_page_holds_the_picture(tmp_path):
    write_plot(tmp_path / "p.html", summarise(TRACE), TRACE)
    page = (tmp_path / "p.html").read_text()
    assert page.startswith(
        '<!doctype html><meta charset="utf-8"><title>&lt;script&gt;&amp;.json</title>\n<svg '
    )
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("name", "said"), [("p.png", r"ends with \.svg or \.html"), ("absent/p.svg", "no folder")]
)
def test_a_file_that_no_picture_can_be_written_to_is_refused(tmp_path, name, said):
    with pytest.raises(UsageError, match=said):
        check_plot_file(tmp_path / name)
