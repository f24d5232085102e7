import pytest
import torch
import triton
import triton.language as tl

from guardrail.adapters.launches import recorded
from guardrail.adapters.trials import device

DEVICE = device()


@triton.jit
def fill(out, value):
    tl.store(out + tl.program_id(0), value)


@triton.jit
def double(out):
    tl.store(out, tl.load(out) * 2)


def test_launches_are_recorded_in_order_and_still_run():
    out = torch.zeros(2, device=DEVICE)
    with recorded() as symbols:
        fill[(2,)](out, 3.0)
        double[(1,)](out)
        fill[(1,)](out[1:], 4.0)
    assert symbols == ["fill", "double", "fill"]
    assert out.tolist() == [6.0, 4.0]


def test_launches_outside_the_block_are_not_recorded():
    out = torch.zeros(1, device=DEVICE)
    fill[(1,)](out, 1.0)
    with recorded() as symbols:
        pass
    fill[(1,)](out, 1.0)
    assert symbols == []


def test_recording_ends_with_an_error_too():
    out = torch.zeros(1, device=DEVICE)
    with pytest.raises(RuntimeError, match="stop"), recorded() as symbols:
        raise RuntimeError("stop")
    fill[(1,)](out, 1.0)
    assert symbols == []
