"""The published JSON Schema accepts what the loader accepts and refuses what it can."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from guardrail.spec.schema import guards_schema
from guardrail.spec.yaml_lines import read_yaml
from unit.spec.conftest import GOOD, KINDS

SCHEMA = guards_schema(KINDS)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "guards.yaml"
    path.write_text(GOOD)
    return read_yaml(path, "").data


def test_it_is_a_json_schema_without_dangling_references() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    names = set(SCHEMA["$defs"])
    assert names == {"Anchor", "Bound", "PastAnchor", "dispatch-guard", "resources-guard"}
    assert all(f"#/$defs/{name}" in text for name in names)
    assert "null" not in text


def test_it_accepts_a_good_file_and_an_empty_list(good: dict[str, Any]) -> None:
    VALIDATOR.validate(good)
    VALIDATOR.validate({"version": 1, "guards": []})


def _resources(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda file: change(file["guards"][0])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.update(version=2),
        lambda file: file.pop("guards"),
        lambda file: file.update(gards=[]),
        _resources(lambda guard: guard.pop("title")),
        _resources(lambda guard: guard.update(titel="x")),
        _resources(lambda guard: guard.update(id="Not a slug")),
        _resources(lambda guard: guard.update(probe="nothing")),
        _resources(lambda guard: guard.update(probe="dispatch")),
        _resources(lambda guard: guard.update(models=["qwen2.5-7b"])),
        _resources(lambda guard: guard.update(control=None)),
        _resources(lambda guard: guard.update(archs=[])),
        _resources(lambda guard: guard.update(require={})),
        _resources(lambda guard: guard.update(require={"dropped_units": {"equals": 0}})),
        _resources(lambda guard: guard.update(require={"spill_bytes": {}})),
        _resources(lambda guard: guard.update(require={"spill_bytes": {"equals": 0, "floor": 0}})),
        _resources(lambda guard: guard.update(require={"spill_bytes": {"floor": None}})),
        _resources(lambda guard: guard.update(require={"spill_bytes": {"floor": "0"}})),
        _resources(lambda guard: guard.update(require={"spill_bytes": {"floor": {}}})),
        _resources(lambda guard: guard.update(require={"spill_bytes": {"flor": 0}})),
    ],
)
def test_it_refuses_a_bad_file(good: dict[str, Any], spoil: Callable[[dict[str, Any]], Any]) -> None:
    spoil(good)
    assert not VALIDATOR.is_valid(good)


def test_editors_are_told_what_keys_and_metrics_mean() -> None:
    guard = SCHEMA["$defs"]["resources-guard"]
    assert guard["title"] == "resources guard"
    assert guard["properties"]["archs"]["description"] == "Architectures to compile for."
    assert guard["properties"]["require"]["properties"]["spill_bytes"]["description"] == (
        "Bytes of registers spilled, per thread. Unit: B."
    )
    assert SCHEMA["title"] == "guardrail guards file"


def test_probes_that_share_a_model_keep_their_own_metrics() -> None:
    kind = KINDS["dispatch"]
    schema = guards_schema({"one": kind, "two": type(kind)(kind.model, KINDS["resources"].metrics)})
    metrics = {
        name: set(schema["$defs"][f"{name}-guard"]["properties"]["require"]["properties"])
        for name in ("one", "two")
    }
    assert metrics == {"one": {"dropped_units"}, "two": {"spill_bytes", "blocks_per_sm"}}
