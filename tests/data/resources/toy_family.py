"""A family of small Triton kernels that the tests compile."""

from guardrail.families import Build, Family, Kernel

FAMILY = Family(
    name="toy",
    title="kernels for the tests",
    kernels=(
        Kernel(
            "scale",
            "toy_kernels:scale",
            (
                Build("any", {"values": "*fp32", "count": "i32", "factor": "fp32"}, {"BLOCK": 1024}, warps=8),
                Build(
                    "aligned",
                    {"values": "*fp32:16", "count": "i32:16", "factor": "fp32"},
                    {"BLOCK": 1024},
                    warps=8,
                ),
            ),
        ),
        Kernel(
            "centre",
            "toy_kernels:centre",
            (
                Build("free", {"values": "*fp32:16"}, {"BLOCK": 16384}),
                Build("capped", {"values": "*fp32:16"}, {"BLOCK": 16384}, max_registers=32),
            ),
        ),
        Kernel("broken", "toy_kernels:broken", (Build("one", {"values": "*fp32"}, {"BLOCK": 64}),)),
        Kernel("untyped", "toy_kernels:centre", (Build("one", {}, {"BLOCK": 64}),)),
        Kernel("idle", "toy_kernels:centre", ()),
    ),
)
