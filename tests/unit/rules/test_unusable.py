from guardrail.records.measurement import Unmeasured
from guardrail.records.verdict import Status
from guardrail.rules.bounds import judge
from helpers.fakes import loaded_guard


def test_a_measurement_of_which_nothing_is_usable_is_undecided_and_never_passes():
    guard = loaded_guard({"time": {"ceiling": 3.0}})
    (verdict,) = judge(guard, [Unmeasured("0 usable windows", {"case": "large"}, undecided=True)])
    assert (verdict.status, verdict.code) == (Status.UNDECIDED, "nothing-usable")
    assert (verdict.sentence, verdict.where, verdict.line) == ("0 usable windows", {"case": "large"}, 3)
