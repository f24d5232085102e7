"""When a matrix-vector arm serves a product, the same for every k-quantized format."""

from guardrail.families.interface import Case, Choice
from guardrail.kernels.kquants.geometry import MATVEC_THRESHOLD

FALLBACK = "dequantized"


def fallback(case: Case, unit_elements: int) -> Choice | None:
    """Pick the fallback where no matrix-vector arm serves, with the reason; None where one does.

    Args:
        case: Axes ``tokens``, ``rows``, ``id`` and optionally ``threshold``.
        unit_elements: Weights of one unit of the arms.
    """
    rows, row_length = int(case["rows"]), int(case["id"])
    threshold = int(case.get("threshold", MATVEC_THRESHOLD))
    if int(case["tokens"]) != 1:
        because = "a matrix-vector product serves one token"
    elif row_length % unit_elements:
        because = f"the row is no whole number of {unit_elements}-element units"
    elif rows * row_length < threshold:
        because = f"the matrix has fewer than {threshold:,} elements"
    else:
        return None
    return Choice(FALLBACK, because=because)
