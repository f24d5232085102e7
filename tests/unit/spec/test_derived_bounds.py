"""Bounds that are derived from an anchor by a slack."""

from textwrap import dedent

import pytest
from pydantic import ValidationError

from guardrail.spec.guards import Bound
from guardrail.spec.limits import limits_at
from helpers.anchors import HASH, STATED, anchor

GUARD = dedent(f"""\
    version: 1
    guards:
      - id: pace
        title: it keeps its pace
        probe: resources
        subject: family.kernel
        archs: [sm_90]
        require:
          blocks_per_sm:
            slack: 2%
            anchor:
              h200: {{value: 700.0, class: measurement, reason: first, commit: "0123abc", date: 2026-12-03,
                evidence: "{HASH}"}}
            history:
              - profile: h200
                value: 719
                class: measurement
                reason: "on the wrong engine"
                commit: "0123ab0"
                valid_from: 2026-01-02
                valid_until: 2026-12-03
                evidence: "{HASH}"
                incomparable_before: "0123abc"
    """)


@pytest.mark.parametrize(
    ("stated", "kind", "limit", "stale"),
    [
        ({"slack": "2%"}, "floor", 686, 714.0),
        ({"slack": "2%", "side": "floor"}, "floor", 686, 714.0),
        ({"slack": "2%", "side": "ceiling"}, "ceiling", 714, 686.0),
        ({"slack": "0.5%"}, "floor", 696.5, 703.5),
        ({"slack": "0%"}, "floor", 700, 700.0),
    ],
)
def test_a_limit_is_computed_from_anchor_and_slack(stated, kind, limit, stale):
    (found,) = limits_at(Bound(**stated, anchor=STATED), {})
    assert (found.kind, found.value, found.stale_beyond) == (kind, limit, stale)
    assert found.anchor == anchor()


def test_a_negative_anchor_has_its_floor_below_it():
    (found,) = limits_at(Bound(slack="10%", anchor=STATED | {"value": -20}), {})
    assert (found.value, found.stale_beyond) == (-22, -18.0)


def test_an_anchor_is_found_by_what_was_measured():
    bound = Bound(slack="2%", anchor={"h200": STATED, "gb10": STATED | {"value": 50}})
    assert [each.value for each in limits_at(bound, {"device": "gb10"})] == [49]
    assert limits_at(bound, {"device": "rtx3090"}) == ()
    assert bound.keys() == {"h200", "gb10"}


def test_a_guards_file_states_anchors_and_their_history(load):
    (loaded,) = load(GUARD)
    bound = loaded.guard.require["blocks_per_sm"]
    assert bound.anchors()["h200"].value == 700.0
    (past,) = bound.history
    assert (past.value, past.class_, past.valid_until, past.incomparable_before) == (
        719,
        "measurement",
        "2026-12-03",
        "0123abc",
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("slack: 2%", "slack: 2", 10, "slack must be a percentage below 100, such as 2%"),
        ("slack: 2%", "slack: 100%", 10, "slack must be a percentage below 100, such as 2%"),
        ("slack: 2%", "floor: 2", 9, "'anchor' goes with 'slack' only"),
        ("slack: 2%", "slack: 2%\n        floor: 2", 9, "does not go with 'floor'"),
        ("h200: {", "h20: {", 12, "device or model profile is named 'h20'; did you mean 'h200'?"),
        ("h200: {value", "h200: {valeu: 1, value", 12, "unknown key 'valeu'; did you mean 'value'?"),
        ("class: measurement, ", "clas: measurement, ", 12, "unknown key 'clas'; did you mean 'class'?"),
        ("class: measurement, ", "class: luck, ", 12, "'correctness-fix', 'optimisation', 'environment' or"),
        ("2026-12-03,\n", "2026-02-30,\n", 12, "there is no day 2026-02-30"),
        ("2026-12-03,\n", "yesterday,\n", 12, "date must be a day, such as 2026-12-03"),
        (
            'commit: "0123abc"',
            "commit: HEAD",
            12,
            "commit must be a git commit: 7 hexadecimal digits or more",
        ),
        ('"sha256:aaa', '"sha256:xaa', 13, "evidence must be 'sha256:' and 64 hexadecimal digits"),
        ("            valid_until: 2026-12-03\n", "", 15, "the key 'valid_until' is missing"),
    ],
)
def test_each_mistake_in_an_anchor_is_reported_on_its_line(faults, old, new, line, part):
    found = faults(GUARD.replace(old, new, 1))
    assert any(part in message for at, message in found if at == line), found


def test_written_and_derived_limits_do_not_mix():
    with pytest.raises(ValidationError, match="does not go with 'floor'"):
        Bound(slack="2%", floor=3)


def test_what_is_wrong_with_an_anchor_is_reported_at_its_value(tmp_path, faults):
    from guardrail.spec.faults import ConfigurationError
    from guardrail.spec.load import load_guards
    from unit.spec.conftest import KINDS, PROFILES

    path = tmp_path / "guards.yaml"
    path.write_text(GUARD)
    seen = []

    def fault(guard, metric, profile, found):
        seen.append((guard.id, metric, profile, found.value))
        return "wrong"

    with pytest.raises(ConfigurationError) as caught:
        load_guards(path, KINDS, PROFILES, lambda _: None, fault)
    assert seen == [("pace", "blocks_per_sm", "h200", 700.0), ("pace", "blocks_per_sm", "h200", 719)]
    assert [(each.line, each.message) for each in caught.value.faults] == [
        (12, "anchor of blocks_per_sm: wrong"),
        (16, "history of blocks_per_sm: wrong"),
    ]
