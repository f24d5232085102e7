"""The page on anchors says what the code does."""

import re
from pathlib import Path

from guardrail.reanchor.window_faults import MINIMUM_WINDOWS
from guardrail.spec.anchors import ANCHOR_CLASSES
from guardrail.spec.guards import MAX_ANCHOR_DAYS, Bound

DOCS = Path(__file__).parents[2] / "docs"
GUARDS = (DOCS / "guards.md").read_text()
REANCHOR = (DOCS / "reanchor.md").read_text()


def rows(text: str, heading: str) -> list[list[str]]:
    (table,) = re.findall(rf"^\| {heading} \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_the_keys_of_derived_bounds_are_documented() -> None:
    keys = {name: field.description for name, field in Bound.model_fields.items()}
    written = ("equals", "floor", "ceiling")
    expected = [[name, meaning] for name, meaning in keys.items() if name not in written]
    assert rows(GUARDS, "bound key") == expected


def test_the_classes_of_anchors_are_documented() -> None:
    assert [row[0] for row in rows(REANCHOR, "class")] == list(ANCHOR_CLASSES)


def test_the_documented_limits_are_the_code_s() -> None:
    assert MINIMUM_WINDOWS == 3
    assert "It measures three windows" in REANCHOR
    assert f"older than `max_age_days`, {MAX_ANCHOR_DAYS} where" in REANCHOR
