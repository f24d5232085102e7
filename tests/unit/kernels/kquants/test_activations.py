import pytest
import torch

from guardrail.kernels.kquants import activations, faulty_quantize, geometry, quantize_trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TYPES = ["float16", "bfloat16", "float32"]


def differing(trial):
    trial.groups.fill_(0x5A)
    trial.launch("quantize_q8")
    return int((trial.groups != trial.reference()[0]).sum())


def test_groups_hold_scale_values_and_sum_at_their_offsets():
    vector = torch.arange(-16, 16).float()
    (group,) = activations.quantize(vector)
    scale = torch.tensor(16 / 127).to(torch.float16)
    expected = (vector / scale.float()).round().clamp(-127, 127).to(torch.int8)
    assert geometry.GROUP_BYTES == len(group) == 40
    assert group[:2].view(torch.float16).item() == scale.item()
    assert torch.equal(group[4:36].view(torch.int8), expected)
    assert group[36:].view(torch.int32).item() == expected.sum().item()


def test_groups_are_within_half_a_step_of_the_vector():
    vector = torch.randn(4096, generator=torch.Generator().manual_seed(3))
    groups = activations.quantize(vector)
    error = (activations.dequantize(groups) - vector).abs().view(-1, 32)
    # The float16 scale is up to 2**-11 too small, which clips the largest value by as much.
    allowed = activations.scales(groups).double() * (0.5 + 127 * 2**-11)
    assert (error <= allowed.unsqueeze(-1)).all()


def test_groups_of_zeros_are_zeros():
    assert not activations.dequantize(activations.quantize(torch.zeros(64))).any()


def test_dequantization_is_exact_in_float32():
    groups = activations.quantize(torch.randn(2, 4096, generator=torch.Generator().manual_seed(4)))
    narrow = activations.dequantize(groups, torch.float32)
    assert narrow.shape == (2, 4096)
    assert torch.equal(narrow.double(), activations.dequantize(groups))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axes", [{"id": 32}, {"id": 5120}, {"id": 288, "tokens": 3}], ids=str)
def test_the_kernel_writes_the_bytes_of_torch(dtype, axes):
    assert differing(quantize_trials.random({"dtype": dtype, **axes}, 0, DEVICE)) == 0


@pytest.mark.parametrize(
    ("step", "value"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (126.5, 126), (125.5, 126)]
)
def test_ties_are_rounded_to_even(step, value):
    vector = torch.zeros(1, 32)
    scale = 1.5e-3
    scale = torch.tensor(scale).to(torch.float16).float().item()
    vector[0, 0], vector[0, 1] = 127 * scale, step * scale
    groups = activations.empty(1, 32, DEVICE)
    activations.quantize_into(vector.to(DEVICE), groups)
    assert groups[0, 0, 4:6].cpu().view(torch.int8).tolist() == [127, value]


def test_a_scale_that_underflows_quantizes_to_zero():
    vector = torch.full((1, 32), 1e-9)
    groups = activations.empty(1, 32, DEVICE)
    activations.quantize_into(vector.to(DEVICE), groups)
    assert not groups.any()


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(("broken", "scale"), [(float("nan"), "nan"), (float("inf"), "inf"), (1e30, "inf")])
def test_what_float16_cannot_scale_shows_in_the_scale_and_leaves_no_values(broken, scale):
    vector = torch.ones(1, 64)
    vector[0, 3] = broken
    groups = activations.empty(1, 64, DEVICE)
    activations.quantize_into(vector.to(DEVICE), groups)
    found = groups.cpu()
    assert str(activations.scales(found)[0, 0].item()) == scale
    assert not found[0, 0, 4:].any()
    assert torch.equal(found[0, 1], activations.quantize(torch.ones(32))[0])


def test_columns_that_are_no_whole_number_of_groups_are_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 48\).*multiples of 32"):
        activations.quantize_into(torch.zeros(1, 48), torch.zeros(1, 1, 40, dtype=torch.uint8))


def test_a_strided_vector_is_refused():
    groups = activations.empty(1, 32, "cpu")
    with pytest.raises(ValueError, match="must be contiguous"):
        activations.quantize_into(torch.zeros(1, 64)[:, ::2], groups)


def test_a_reciprocal_instead_of_a_division_changes_bytes():
    case = {"id": 5120, "dtype": "float32"}
    assert differing(faulty_quantize.random_by_reciprocal(case, 0, DEVICE)) > 0


def test_an_unwritten_group_keeps_its_poison():
    trial = faulty_quantize.random_without_last_group({"id": 288, "dtype": "float32", "tokens": 2}, 0, DEVICE)
    trial.groups.fill_(0x5A)
    trial.launch("quantize_q8")
    assert (trial.groups[:, -1] == 0x5A).all()
    assert torch.equal(trial.groups[:, :-1], trial.reference()[0][:, :-1])
