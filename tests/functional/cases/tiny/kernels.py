"""A kernel that does not compile."""

import triton
import triton.language as tl


@triton.jit
def broken(out):
    tl.store(out, tl.no_such_operation(1))
