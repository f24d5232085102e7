import pytest

from guardrail.families import Work
from guardrail.kernels.q6k import served_trials, trials
from guardrail.kernels.q6k.work import work


@pytest.mark.parametrize(
    ("arm", "streamed_row"), [("v2", 54 * 224), ("v2_pf_dpl", 11_344)], ids=["padded", "dense"]
)
def test_work_tells_content_from_what_the_layout_streams(arm, streamed_row):
    found = work({"id": 13_824, "rows": 5120}, arm)
    ends = 432 * 40 + 5120 * 4
    assert found == Work(5120 * 54 * 210 + ends, 5120 * streamed_row + ends, 2 * 5120 * 13_824)


def test_the_slower_twin_computes_five_percent_more_rows_and_shows_the_same_many():
    case = {"id": 512, "rows": 40}
    slower = served_trials.random_with_more_rows(case, 0, "cpu")
    slower.launch("v2")
    shown, expected = slower.outputs[0], slower.reference()[0]
    assert shown.shape == trials.random(case, 0, "cpu").outputs[0].shape == expected.shape
    assert shown.shape[-1] == 40
    assert float((shown.double() - expected).norm() / expected.norm()) < 1e-6
    (whole,) = slower.whole.outputs
    assert whole.shape[-1] == 42
    assert not whole.isnan().any()
