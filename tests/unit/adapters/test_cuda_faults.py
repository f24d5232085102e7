import pytest

from guardrail.adapters.cuda_faults import cuda_fault

TORCH_ILLEGAL = (
    "CUDA error: an illegal memory access was encountered\n"
    "Search for `cudaErrorIllegalAddress' in the CUDA documentation for more information.\n"
    "CUDA kernel errors might be asynchronously reported at some other API call."
)
TORCH_MEMORY = (
    "CUDA out of memory. Tried to allocate 1048576.00 GiB. GPU 0 has a total capacity of 139.80 GiB"
)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            TORCH_ILLEGAL,
            "a kernel read or wrote memory that is not its own (illegal memory access); compute-sanitizer "
            "names the kernel and the line. CUDA says: CUDA error: an illegal memory access was encountered",
        ),
        (
            TORCH_MEMORY,
            "the GPU's memory ran out; measure a smaller case, or free the memory that other processes hold. "
            f"CUDA says: {TORCH_MEMORY}",
        ),
        (
            "Triton Error [CUDA]: misaligned address",
            "a kernel used an address that its access does not allow (misaligned address); look for a vector "
            "load from an odd offset or stride. CUDA says: Triton Error [CUDA]: misaligned address",
        ),
        (
            "out of resource: shared memory, Required: 262144, Hardware limit: 232448.",
            "a kernel asks for more registers, threads or shared memory than the GPU gives a block; shrink "
            "its tile or its number of stages or warps. CUDA says: out of resource: shared memory, Required: "
            "262144, Hardware limit: 232448.",
        ),
    ],
)
def test_an_error_of_the_gpu_says_its_cause_and_what_to_do(message, sentence):
    assert cuda_fault(message) == sentence


@pytest.mark.parametrize("message", ["", "division by zero", "host is out of memory", "CUDA error: weather"])
def test_any_other_error_is_left_as_it_is(message):
    assert cuda_fault(message) is None
