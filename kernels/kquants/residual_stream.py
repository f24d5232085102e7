"""Where a product goes that is added to a residual stream, and what it leaves the next products to read."""

from dataclasses import dataclass

import torch

from guardrail.kernels.kquants import geometry


@dataclass(frozen=True, slots=True)
class UnnormalizedGroups:
    """The RMS norm ``x / sqrt(mean(x**2) + epsilon) * weight`` of a vector, but for its root, in q8.

    The root hangs on all of x, and so on every block of the product that adds to it. The products that read
    the groups take their scales times ``1 / sqrt(sum(squares) / columns + epsilon)``, rounded to float16 as
    those of q8 groups are: no kernel stands between the two.
    """

    groups: torch.Tensor
    """uint8 [columns / 32, 36], contiguous: f32 scale ``amax / 127`` of ``x * weight``, 32 signed bytes."""
    squares: torch.Tensor
    """fp32 [columns / 32], contiguous: sums of x**2."""
    epsilon: float
    """Added to the mean square."""

    @classmethod
    def empty(cls, columns: int, epsilon: float, device: torch.device | str) -> "UnnormalizedGroups":
        """Allocate those of one vector.

        Args:
            columns: Its elements, a multiple of 32.
            epsilon: Added to the mean square.
            device: Where to allocate.
        """
        count = columns // geometry.GROUP_ELEMENTS
        return cls(
            torch.empty(count, geometry.UNNORMALIZED_BYTES, dtype=torch.uint8, device=device),
            torch.empty(count, dtype=torch.float32, device=device),
            epsilon,
        )


@dataclass(frozen=True, slots=True)
class ResidualStream:
    """One token's residual stream, which a product is added to."""

    residual: torch.Tensor
    """fp32 [rows], contiguous, read and written."""
    norm_weight: torch.Tensor
    """fp32 [rows], contiguous: weight of the norm behind it."""
    normed: UnnormalizedGroups
    """Of the sum, written."""
