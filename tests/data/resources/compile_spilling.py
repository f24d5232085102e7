"""Compile a kernel with too few registers into the Triton cache, as an autotuner's choice may be."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def chosen(inputs, outputs, columns: tl.constexpr):
    at = tl.arange(0, columns)
    first, second = tl.load(inputs + at), tl.load(inputs + columns + at)
    tl.store(outputs + at, first * tl.sum(first * second, 0) + second)


source = ASTSource(chosen, {"inputs": "*fp32", "outputs": "*fp32", "columns": "constexpr"}, {(2,): 8192})
triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "maxnreg": 32})
