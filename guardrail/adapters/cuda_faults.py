"""What a CUDA error says about the kernel that caused it."""

_FAULTS = (
    (
        ("illegal memory access", "cudaErrorIllegalAddress"),
        "a kernel read or wrote memory that is not its own (illegal memory access)",
        "compute-sanitizer names the kernel and the line",
    ),
    (
        ("misaligned address",),
        "a kernel used an address that its access does not allow (misaligned address)",
        "look for a vector load from an odd offset or stride",
    ),
    (
        ("out of memory", "OutOfMemory"),
        "the GPU's memory ran out",
        "measure a smaller case, or free the memory that other processes hold",
    ),
    (
        ("out of resource", "too many resources requested"),
        "a kernel asks for more registers, threads or shared memory than the GPU gives a block",
        "shrink its tile or its number of stages or warps",
    ),
    (
        ("device-side assert",),
        "an assertion in a kernel failed (device-side assert)",
        "run it with CUDA_LAUNCH_BLOCKING=1 to see where",
    ),
    (
        ("unspecified launch failure",),
        "a kernel died (unspecified launch failure)",
        "compute-sanitizer may tell where",
    ),
    (
        ("launch timed out",),
        "the driver ended a kernel that ran for too long",
        "the GPU drives a display, which limits how long a kernel may run",
    ),
    (
        ("uncorrectable ECC error",),
        "the GPU found an error in its memory that it cannot correct",
        "the card needs to be looked at: nvidia-smi -q -d ECC",
    ),
)


def cuda_fault(message: str) -> str | None:
    """Say what went wrong on the GPU, and what to do.

    Args:
        message: The text of an error that torch, Triton or CUDA raised.

    Returns:
        One sentence that ends with the first line of the message, or None where it is no error of a GPU.
    """
    first = message.strip().partition("\n")[0]
    if "CUDA" not in message and "Triton Error" not in message and "out of resource" not in message:
        return None
    for signs, cause, remedy in _FAULTS:
        if any(sign.lower() in message.lower() for sign in signs):
            return f"{cause}; {remedy}. CUDA says: {first}"
    return None
