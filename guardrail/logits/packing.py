"""Arrays as plain data, so that a worker can return them and the cache can keep them."""

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

Packed = dict[str, Any]
"""``dtype`` as numpy writes it, ``shape``, and ``data``: the bytes in base64."""


def pack(array: "NDArray[Any]") -> Packed:
    """Turn an array into plain data."""
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def unpack(packed: Packed) -> "NDArray[Any]":
    """Give an array back, to the byte."""
    import numpy as np

    flat = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["dtype"])
    return flat.reshape(packed["shape"])
