from dataclasses import replace

import pytest

from guardrail.errors import UsageError
from guardrail.reanchor.order import Order
from guardrail.reanchor.windows import Window, collect_series
from guardrail.records.measurement import Measurement
from helpers.anchors import STATED, TREE
from helpers.fakes import loaded_guard
from unit.reanchor.conftest import ORDER, result, windows

DEVICES = {"h200", "gb10"}


def guard(bound):
    return loaded_guard({"rate": bound, "spills": {"ceiling": 0}}, "decode", probe="speed", subject="engine")


def test_a_series_is_one_metric_for_one_profile(series):
    found = series(699.0, 700.0, 703.0)
    assert (found.metric, found.profile, found.values, found.value) == (
        "rate",
        "h200",
        (699.0, 700.0, 703.0),
        700.0,
    )
    assert found.spread == pytest.approx(4 / 700)
    assert found.old is not None
    assert found.name == "decode: rate (h200)"


@pytest.mark.parametrize(
    ("bound", "profile"),
    [
        ({"slack": "2%"}, "h200"),
        ({"slack": "2%", "anchor": STATED}, None),
        ({"slack": "2%", "anchor": {"gb10": STATED}}, "h200"),
    ],
)
def test_a_new_anchor_is_for_the_device_unless_one_holds_everywhere(bound, profile):
    (found,) = collect_series(guard(bound), windows(700.0), ORDER, DEVICES)
    assert found.profile == profile


def test_a_measurement_at_no_device_is_anchored_everywhere():
    bare = replace(result(5.0), measurements=(Measurement("rate", "tokens/s", 5.0),))
    (found,) = collect_series(guard({"slack": "2%"}), [Window("run", bare, TREE)], ORDER, DEVICES)
    assert found.profile is None


def test_changes_are_taken_in_pairs_or_from_the_only_old_value(series):
    assert series(10.0, 20.0).changes_from([20.0, 10.0]) == (-0.5, 1.0)
    assert series(10.0, 20.0).changes_from([10.0]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("bound", "order", "said"),
    [
        ({"floor": 5}, ORDER, "decode: the bound of rate, spills is written, not derived from an anchor"),
        (
            {"slack": "2%"},
            replace(ORDER, metric="time"),
            "--metric time: decode does not bound it; it bounds",
        ),
        ({"slack": "2%"}, replace(ORDER, metric="spills"), "the bound of spills is written"),
        (
            {"slack": "2%", "anchor": STATED},
            replace(ORDER, profile="h200"),
            "--profile h200: the anchor of rate in decode holds for every profile; leave --profile out",
        ),
    ],
)
def test_what_cannot_be_anchored_is_said(bound, order, said):
    with pytest.raises(UsageError) as caught:
        collect_series(guard(bound), windows(700.0), order, DEVICES)
    assert said in str(caught.value)


def test_one_anchor_cannot_stand_for_several_places():
    places = tuple(Measurement("rate", "tokens/s", 5.0, {"case": name}) for name in "ab")
    window = Window("run", replace(result(5.0), measurements=places), TREE)
    with pytest.raises(UsageError, match=r"rate is measured at several places \(a; b\)"):
        collect_series(guard({"slack": "2%"}), [window], ORDER, DEVICES)


def test_only_the_profile_that_is_asked_for_is_moved():
    places = tuple(Measurement("rate", "tokens/s", 5.0, {"device": name}) for name in ("h200", "gb10"))
    window = Window("run", replace(result(5.0), measurements=places), TREE)
    bound = {"slack": "2%", "anchor": {"h200": STATED}}
    assert [each.profile for each in collect_series(guard(bound), [window], ORDER, DEVICES)] == [
        "h200",
        "gb10",
    ]
    order = Order("measurement", "why", profile="gb10")
    assert [each.profile for each in collect_series(guard(bound), [window], order, DEVICES)] == ["gb10"]
