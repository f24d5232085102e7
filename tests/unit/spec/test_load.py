"""A guards file is loaded, or all of its faults are reported at once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardrail.errors import ExitCode
from guardrail.spec.faults import ConfigurationError
from guardrail.spec.load import load_guards
from unit.spec.conftest import GOOD, KINDS, PROFILES

Load = Callable[..., tuple[Any, ...]]
Faults = Callable[..., list[tuple[int | None, str]]]


def _with(*changes: tuple[str, str]) -> str:
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_guards_come_in_order_with_their_lines(load: Load) -> None:
    resources, dispatch = load(GOOD)
    assert (resources.guard.id, resources.line) == ("mq3d-resources", 3)
    assert dict(resources.bound_lines) == {"spill_bytes": 9, "blocks_per_sm": 10}
    assert resources.guard.archs == ["sm_86", "sm_90"]
    assert resources.guard.require["blocks_per_sm"].floor == {"sm_86": 2, "h200": 3.5}
    assert (dispatch.guard.id, dispatch.line) == ("q6k-gate-covers", 12)
    assert dispatch.guard.models == ["qwen2.5-7b"]
    assert dict(dispatch.bound_lines) == {"dropped_units": 18}


def test_a_file_without_guards_is_accepted(load: Load) -> None:
    assert load("version: 1\nguards: []\n") == ()


def test_aliases_share_parts_between_guards(load: Load) -> None:
    first, second = load(
        "version: 1\nguards:\n"
        "  - {id: a, title: t, probe: resources, subject: s, archs: &archs [sm_90],"
        " require: {spill_bytes: {equals: 0}}}\n"
        "  - {id: b, title: t, probe: resources, subject: s, archs: *archs,"
        " require: {spill_bytes: {equals: 0}}}\n"
    )
    assert first.guard.archs == second.guard.archs == ["sm_90"]


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("title: nothing spills", "title: 12", 4, "title must be text; put it in quotes"),
        ("title: nothing spills", "title: ''", 4, "title must not be empty"),
        ("title: nothing spills", "title:", 4, "title has no value; give it one or remove it"),
        ("    title: nothing spills\n", "", 3, "the key 'title' is missing"),
        ("{ceiling: 0}", "{celing: 0, floor: 0}", 9, "unknown key 'celing'; did you mean 'ceiling'?"),
        (
            "{ceiling: 0}",
            "{ceiling: '0'}",
            9,
            "ceiling must be a number or 'name: value' lines, not the text '0'",
        ),
        ("{ceiling: 0}", "{ceiling: true}", 9, "ceiling must be a number or 'name: value' lines, not true"),
        ("{ceiling: 0}", "{ceiling: .nan}", 9, "ceiling must be a finite number"),
        ("{ceiling: 0}", f"{{ceiling: {'9' * 400}}}", 9, "ceiling must be a number of at most 40 digits"),
        ("{ceiling: 0}", "{ceiling: 1e999}", 9, "ceiling must be a finite number"),
        ("{ceiling: 0}", "{ceiling: {}}", 9, "ceiling must not be empty"),
        ("{ceiling: 0}", "{ceiling: }", 9, "ceiling has no value; give it one or remove it"),
        ("{ceiling: 0}", "{}", 9, "a bound needs 'equals', 'floor', 'ceiling' or 'slack'"),
        ("{ceiling: 0}", "{equals: 0, floor: 0}", 9, "'equals' goes with neither 'floor' nor 'ceiling'"),
        ("{ceiling: 0}", "{floor: 3, ceiling: 2}", 9, "no number is at least 3 and at most 2"),
        ("{ceiling: 0}", "5", 9, "require.spill_bytes must be 'name: value' lines, not the number 5"),
        ("h200: 3.5", "h200: x", 11, "require.blocks_per_sm.floor.h200 must be a number, not the text 'x'"),
        ("h200: 3.5", "h20: 3", 11, "device or model profile is named 'h20'; did you mean 'h200'?"),
        ("[sm_86, sm_90]", "[]", 7, "archs must not be empty"),
        ("[sm_86, sm_90]", "sm_86", 7, "archs must be a list, not the text 'sm_86'"),
        ("[sm_86, sm_90]", "[sm_90, 90]", 7, "archs[1] must be text; put it in quotes"),
        ("[sm_86, sm_90]", "[sm_68]", 7, "archs: no architecture is named 'sm_68'; did you mean 'sm_86'?"),
        ("[qwen2.5-7b]", "[llama]", 16, "models: no model profile is named 'llama'; known: qwen2.5-7b"),
        (
            "dropped_units:",
            "droped:",
            18,
            "the dispatch probe has no metric 'droped'; did you mean 'dropped_units'?",
        ),
        ("probe: dispatch", "probe: dispach", 14, "there is no probe 'dispach'; did you mean 'dispatch'?"),
        ("probe: dispatch", "probe: 5", 14, "probe must be text; put it in quotes"),
        (
            "id: q6k-gate-covers",
            "id: Q6K gate",
            12,
            "id must be lower-case letters and digits, joined by single",
        ),
        ("id: q6k-gate-covers", f"id: {'a' * 81}", 12, "id must have at most 80 characters"),
        (
            "id: q6k-gate-covers",
            "id: mq3d-resources",
            12,
            "the id 'mq3d-resources' is used on line 3 already",
        ),
        ("models: [qwen2.5-7b]", "seeds: '3'", 16, "seeds must be a whole number, not the text '3'"),
        ("models: [qwen2.5-7b]", "seeds: true", 16, "seeds must be a whole number, not true"),
        ("models: [qwen2.5-7b]", "seeds: 1.5", 16, "seeds must be a whole number, not the number 1.5"),
        ("models: [qwen2.5-7b]", "seeds: 0", 16, "seeds must be at least 1"),
        ("models: [qwen2.5-7b]", "model: [x]", 16, "unknown key 'model'; did you mean 'models'?"),
        ("version: 1", "version: 2", 1, "the file's version is the number 2; this guardrail reads version 1"),
        (
            "version: 1",
            "version: '1'",
            1,
            "the file's version is the text '1'; this guardrail reads version 1",
        ),
        ("version: 1", "version: true", 1, "the file's version is true; this guardrail reads version 1"),
        ("version: 1\n", "", 1, "the key 'version' is missing; this guardrail reads version 1"),
        ("guards:\n", "gards: []\nguards:\n", 2, "unknown key 'gards'; did you mean 'guards'?"),
    ],
)
def test_one_mistake_gives_one_fault_on_its_line(
    faults: Faults, old: str, new: str, line: int, part: str
) -> None:
    ((at, message),) = faults(_with((old, new)))
    assert at == line
    assert part in message
    assert not any(word in message for word in ("pydantic", "https://", "Input", "str_", "dict["))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 1\n", [(1, "the key 'guards' is missing")]),
        ("version: 1\nguards:\n", [(2, "guards has no value; give it one or remove it")]),
        ("version: 1\nguards: {}\n", [(2, "guards must be a list, not 'name: value' lines")]),
        (
            "version: 1\nguards:\n  - 5\n  -\n",
            [(line, "a guard must be 'key: value' lines, beginning with '- id: ...'") for line in (3, 4)],
        ),
    ],
)
def test_a_misshapen_file_is_refused(faults: Faults, text: str, expected: list[tuple[int, str]]) -> None:
    assert faults(text) == expected


def test_every_fault_of_every_guard_is_reported_at_once(faults: Faults) -> None:
    found = faults(
        _with(
            ("title: nothing spills", "titel: nothing spills"),
            ("[sm_86, sm_90]", "[sm_68, 5]"),
            ("{ceiling: 0}", "{ceiling: x}"),
            ("h200: 3.5", "h20: 3"),
            ("probe: dispatch", "probe: dispach"),
            ("{equals: 0}", "{equals: x}"),
        ),
        lambda guard: pytest.fail(f"{guard.id} is malformed"),
    )
    assert [line for line, _ in found] == [3, 4, 7, 7, 9, 11, 14, 18]


def test_a_subject_that_does_not_exist_is_a_fault_on_its_line(faults: Faults) -> None:
    found = faults(GOOD, lambda guard: f"no {guard.subject}" if guard.id == "q6k-gate-covers" else None)
    assert found == [(15, "no q6k.mmvq")]


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    path = tmp_path / "guards.yaml"
    with pytest.raises(ConfigurationError) as caught:
        load_guards(path, KINDS, PROFILES, lambda _: None)
    assert str(caught.value) == (
        f"{path}: there is no such file; expected a guards file; write one that begins with "
        "'version: 1' and 'guards: []', or name another with --guards"
    )
    assert caught.value.exit_code is ExitCode.USAGE


SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["sm_86", "a", "", "dispatch"])
)
PLAIN = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)
GUARD = st.fixed_dictionaries(
    {"probe": st.sampled_from(list(KINDS))},
    optional=dict.fromkeys(["id", "title", "subject", "control", "models", "archs"], PLAIN),
)
BOUND = st.dictionaries(st.sampled_from(["equals", "floor", "ceiling", "x"]), PLAIN, max_size=3)
REQUIRE = st.dictionaries(
    st.sampled_from(["spill_bytes", "dropped_units"]), st.one_of(BOUND, PLAIN), max_size=2
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(PLAIN, st.builds(lambda guard, require: guard | {"require": require}, GUARD, REQUIRE)))
)
def test_any_guards_are_loaded_or_refused(load: Load, guards: list[Any]) -> None:
    # JSON is YAML, but for its words for what is not a finite number.
    text = json.dumps(guards).replace("NaN", ".nan").replace("Infinity", ".inf")
    try:
        load(f"version: 1\nguards: {text}\n")
    except ConfigurationError as error:
        assert {fault.line for fault in error.faults} == {2}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text("a1 :-[]{}&*!'\"\n\t#|é\x00", max_size=6))
def test_any_edit_of_a_good_file_is_loaded_or_refused(load: Load, at: int, cut: int, put: str) -> None:
    try:
        load(GOOD[:at] + put + GOOD[at + cut :])
    except ConfigurationError as error:
        assert error.faults


def test_a_bound_for_what_the_guard_does_not_measure_is_refused(faults: Faults) -> None:
    narrowed = GOOD.replace("archs: [sm_86, sm_90]", "archs: [sm_90]")
    assert faults(narrowed) == [
        (11, "sm_86 is not among the guard's archs, so that its bound would never apply")
    ]
