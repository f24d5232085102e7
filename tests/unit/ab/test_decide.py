"""Pairs that something spoils: they are left out, counted, and never a pass."""

import pytest

from guardrail.ab.comparison import Pair, Spoiled, Verdict
from guardrail.ab.decide import decide
from guardrail.errors import ExitCode, MeasurementError, UndecidedError
from unit.ab.conftest import make_plan, make_run


def still() -> float:
    return 0.0


def pair(number, a=10.0, b=9.8):
    return Pair(number, "A", make_run(a), make_run(b))


def attempts(pairs, spoiled_after=()):
    for number in range(1, pairs + 1):
        yield pair(number)
        if number in spoiled_after:
            yield Spoiled("The SM clock went down.")


def test_spoilt_pairs_are_left_out_and_counted():
    *seen, found = decide(make_plan(), attempts(40, spoiled_after=(2, 5)), 0.0, still)
    assert [isinstance(each, Spoiled) for each in seen].count(True) == 2
    assert (found.pairs, found.verdict) == (8, Verdict.ACCEPT)
    assert found.discarded == ("The SM clock went down.",) * 2


def test_a_comparison_with_too_few_unspoilt_pairs_is_undecided():
    with pytest.raises(UndecidedError) as caught:
        list(decide(make_plan(), attempts(3, spoiled_after=(1, 2, 3)), 0.0, still))
    assert str(caught.value) == (
        "no further window may be tried after 3 pairs, before the first look at 8; "
        "windows that were spoilt and discarded: 3 x The SM clock went down."
    )
    assert caught.value.exit_code is ExitCode.UNDECIDED


def test_too_few_pairs_of_which_none_was_spoilt_are_an_error():
    with pytest.raises(
        MeasurementError, match="after 3 pairs, before the first look at 8; give --budget more"
    ):
        list(decide(make_plan(), attempts(3), 0.0, still))


def test_attempts_that_end_after_a_look_leave_it_undecided():
    equal = (pair(number, 10.0, 10.0) for number in range(1, 10))
    *_, found = decide(make_plan(), equal, 0.0, still)
    assert (found.pairs, found.verdict) == (8, Verdict.UNDECIDED)
    assert found.reason.endswith(
        "neither criterion is clearly met; no further window may be tried after 9 pairs"
    )
