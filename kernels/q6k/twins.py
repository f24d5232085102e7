"""Builds of the v2 arms that must add in the same order, so that their outputs are the same bytes."""

from dataclasses import replace

from guardrail.families.interface import Build, Control, Twin, Twins
from guardrail.kernels.q6k import geometry

_PACKAGE = "guardrail.kernels.q6k"

KERNELS = ("mmvq_v2", "mmvq_v2_dpl", "mmvq_v2_pf", "mmvq_v2_pf_dpl")
_DIVISIBLE = "i32:16"


def build(kernel: str, units: str = "i32") -> Build:
    """State how an arm is compiled.

    Args:
        kernel: Its kernel.
        units: Type of the number of units, and of what it promises to be divisible by.
    """
    constants = {"ROWS": geometry.ROWS, "BLOCK_UNITS": geometry.BLOCK_UNITS, "DP4A": True}
    if "_pf" in kernel:
        constants["UNITS_PER_LANE"] = geometry.UNITS_PER_LANE
    return Build(
        name="any_row" if units == "i32" else "units_by_16",
        signature={
            "weights": "*u8:16",
            "activations": "*u8:16",
            "output": "*fp32:16",
            "rows": "i32",
            "units": units,
        },
        constants=constants,
        warps=geometry.WARPS,
        fp_fusion=False,
    )


_MMVQ = Twins(
    name="mmvq_twins",
    twins=tuple(
        Twin(f"{_PACKAGE}.{kernel}:{kernel}", build(kernel, units))
        for units in ("i32", _DIVISIBLE)
        for kernel in KERNELS
    ),
)
_PLAIN_SUM = f"{_PACKAGE}.plain_sum:mmvq_v2_plain_sum"

TWINS = (
    replace(
        _MMVQ,
        controls=(
            Control(
                "plain-sum",
                "one sum adds all lanes, in an order that follows the layout, with four warps and with eight",
                replace(
                    _MMVQ,
                    twins=(
                        Twin(_PLAIN_SUM, build("mmvq_v2")),
                        Twin(_PLAIN_SUM, replace(build("mmvq_v2"), name="eight_warps", warps=8)),
                    ),
                ),
                ("differing_reduction_layouts",),
            ),
        ),
    ),
)
