"""Whatever a guards file looks like, moving an anchor changes the anchor and nothing else."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardrail.spec.load import load_guards
from guardrail.store.guards_editor import Move, edited
from helpers.anchors import HASH, STATED
from helpers.guards_texts import METRIC, OLD, GuardsText, guards_texts
from unit.spec.conftest import KINDS, PROFILES

PAST: dict[str, Any] = {
    **{key: value for key, value in STATED.items() if key != "date"},
    "evidence": OLD,
    "valid_from": "2026-01-02",
    "valid_until": "2026-12-03",
}


def move_for(case: GuardsText, reason: str, slack: str | None) -> Move:
    past = PAST | ({"profile": case.profile} if case.profile else {})
    return Move(
        "pace",
        METRIC,
        case.profile,
        STATED | {"reason": reason, "toolchain": "triton 3.7.1"},
        past if case.anchored else None,
        OLD if case.anchored else None,
        slack,
    )


def comments(text: str) -> list[str]:
    return [line[line.index("# ü") :] for line in text.splitlines() if "# ü" in line]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    case=guards_texts(),
    reason=st.sampled_from(["plain", 'a "quote": {x}, #1', "größer 速度 😀", "back\\slash 'n it"]),
    slack=st.sampled_from([None, "3.5%"]),
)
def test_moving_an_anchor_changes_nothing_outside_its_bound(tmp_path: Path, case, reason, slack):
    path = tmp_path / "guards.yaml"
    path.write_bytes(case.text.encode())
    before = load_guards(path, KINDS, PROFILES, lambda _: None)

    after = edited(case.text, "guards.yaml", move_for(case, reason, slack))

    assert after.startswith(case.before)
    assert after.endswith(case.after)
    if "\r\n" in case.text:
        assert "\n" not in after.replace("\r\n", "")
    assert comments(after) == comments(case.text)
    path.write_bytes(after.encode())
    loaded = {each.guard.id: each.guard for each in load_guards(path, KINDS, PROFILES, lambda _: None)}
    for each in before:
        if each.guard.id != "pace":
            assert loaded[each.guard.id] == each.guard
            continue
        old, new = each.guard.require[METRIC], loaded["pace"].require[METRIC]
        assert each.guard.model_copy(update={"require": {}}) == loaded["pace"].model_copy(
            update={"require": {}}
        )
        assert new.slack == (slack or "2%")
        assert new.anchors()[case.profile].reason == reason
        assert new.anchors()[case.profile].evidence == HASH
        assert new.anchors()[case.profile].ref is None
        assert len(new.history) == len(old.history) + case.anchored
        assert {key: one for key, one in new.anchors().items() if key != case.profile} == {
            key: one for key, one in old.anchors().items() if key != case.profile
        }
