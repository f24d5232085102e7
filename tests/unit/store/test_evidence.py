import json
from dataclasses import replace

import pytest

from guardrail.records.evidence import EvidenceWindow
from guardrail.spec.anchors import PastAnchor
from guardrail.store.evidence import EvidenceError, anchor_fault, evidence_path, read_evidence, write_evidence
from helpers.anchors import STATED, TREE, anchor, evidence
from helpers.fakes import loaded_guard

GUARD = loaded_guard({"rate": {"slack": "2%"}}, "decode").guard


def test_evidence_is_named_by_its_hash_and_read_back_equal(tmp_path):
    name = write_evidence(tmp_path, evidence())
    assert evidence_path(tmp_path, name).parent == tmp_path / "evidence"
    assert read_evidence(tmp_path, name) == evidence()
    assert [path.name for path in (tmp_path / "evidence").iterdir()] == [f"{name[7:]}.json"]


def test_the_same_evidence_is_the_same_file(tmp_path):
    assert write_evidence(tmp_path, evidence()) == write_evidence(tmp_path, evidence())
    assert write_evidence(tmp_path, evidence(reason="other")) != write_evidence(tmp_path, evidence())


def test_an_anchor_that_states_its_evidence_is_faultless(tmp_path):
    name = write_evidence(tmp_path, evidence())
    assert anchor_fault(tmp_path, GUARD, "rate", "h200", anchor(evidence=name)) is None


def test_a_superseded_anchor_is_held_to_its_evidence_too(tmp_path):
    name = write_evidence(tmp_path, evidence())
    stated = {key: value for key, value in STATED.items() if key != "date"}
    past = {**stated, "evidence": name, "valid_from": "2026-12-03", "valid_until": "2026-12-09"}
    assert anchor_fault(tmp_path, GUARD, "rate", "h200", PastAnchor.model_validate(past)) is None
    moved = PastAnchor.model_validate(past | {"valid_from": "2026-12-04"})
    assert "its day is '2026-12-04'" in (anchor_fault(tmp_path, GUARD, "rate", "h200", moved) or "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": 680.0}, "its value is 680.0, but its evidence says 700.0"),
        ({"class": "optimisation"}, "its class is 'optimisation', but its evidence says 'correctness-fix'"),
        ({"reason": "luck"}, "its reason is 'luck'"),
        ({"commit": "fffffff"}, "its commit is 'fffffff', but its evidence says '0123abc'"),
        ({"date": "2026-12-04"}, "its day is '2026-12-04', but its evidence says '2026-12-03'"),
        ({"ref": "#5"}, "its ref is '#5', but its evidence says none"),
        ({"toolchain": "triton 9"}, "its toolchain is 'triton 9'"),
    ],
)
def test_an_anchor_edited_by_hand_is_told_from_its_evidence(tmp_path, changes, said):
    name = write_evidence(tmp_path, evidence())
    fault = anchor_fault(tmp_path, GUARD, "rate", "h200", anchor(evidence=name, **changes))
    assert fault is not None
    assert said in fault
    assert "and an anchor is never moved by hand; restore it from git" in fault


@pytest.mark.parametrize(
    ("guard", "metric", "profile"),
    [("other", "rate", "h200"), ("decode", "time", "h200"), ("decode", "rate", None)],
)
def test_evidence_speaks_for_no_other_guard_metric_or_profile(tmp_path, guard, metric, profile):
    name = write_evidence(tmp_path, evidence())
    other = loaded_guard({"rate": {"slack": "2%"}}, guard).guard
    assert anchor_fault(tmp_path, other, metric, profile, anchor(evidence=name)) is not None


def test_evidence_that_was_changed_no_longer_matches_its_name(tmp_path):
    name = write_evidence(tmp_path, evidence())
    path = evidence_path(tmp_path, name)
    path.write_text(path.read_text().replace("699.0", "698.0"))
    with pytest.raises(EvidenceError, match="does not match its own name"):
        read_evidence(tmp_path, name)


def test_evidence_that_is_missing_is_named(tmp_path):
    with pytest.raises(EvidenceError) as caught:
        read_evidence(tmp_path, STATED["evidence"])
    assert str(caught.value) == (
        f"its evidence evidence/{'a' * 64}.json cannot be read (No such file or directory); restore it from "
        "git; where that cannot be, remove the anchor from the guards file, and measure it anew with "
        "'guardrail reanchor'"
    )


def test_a_value_that_is_not_the_median_of_its_windows_is_refused(tmp_path):
    name = write_evidence(tmp_path, evidence(value=720.0))
    with pytest.raises(EvidenceError, match="is not the median of the windows there"):
        read_evidence(tmp_path, name)


def test_a_median_is_stated_to_six_digits(tmp_path):
    windows = tuple(EvidenceWindow(value, TREE) for value in (1.23456789, 1.0, 2.0))
    name = write_evidence(tmp_path, evidence(value=1.23457, windows=windows))
    assert read_evidence(tmp_path, name).value == 1.23457


def test_a_file_that_is_no_evidence_is_refused(tmp_path):
    name = write_evidence(tmp_path, evidence())
    stated = json.loads(evidence_path(tmp_path, name).read_text())
    del stated["windows"]
    from guardrail.store.evidence import digest

    content = json.dumps(stated).encode()
    evidence_path(tmp_path, digest(content)).write_bytes(content)
    with pytest.raises(EvidenceError, match="is not one: windows: Field required"):
        read_evidence(tmp_path, digest(content))


def test_samples_and_intervals_survive(tmp_path):
    window = EvidenceWindow(5, TREE, (4.0, 5.0, 6.0), (4.0, 6.0), "cafe", {"device": "h200"})
    stated = replace(evidence(value=5), windows=(window, window, window))
    assert read_evidence(tmp_path, write_evidence(tmp_path, stated)) == stated
