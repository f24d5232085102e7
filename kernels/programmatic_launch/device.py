"""What a programmatically launched kernel does first."""

import triton
import triton.language as tl
from triton.language.extra import cuda


@triton.jit
def begin(PDL: tl.constexpr):
    """Let what comes next start, and wait for everything ahead in the stream.

    Must come before the first access to memory that another kernel writes. What comes next, if it is launched
    this way too, waits for this whole kernel in turn; until then it can only load what nobody writes.
    """
    let_next_start(PDL)
    wait(PDL)


@triton.jit
def let_next_start(PDL: tl.constexpr):
    """Let what comes next in the stream start, once all programs have said so."""
    if PDL:
        cuda.gdc_launch_dependents()


@triton.jit
def wait(PDL: tl.constexpr):
    """Wait for everything ahead in the stream."""
    if PDL:
        cuda.gdc_wait()
