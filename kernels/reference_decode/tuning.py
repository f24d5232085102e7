"""How the small kernels of a step are cut: what decides their speed, and no result but a sum's last bits."""

NORM_COLUMNS = 256
"""Columns that one program of a norm writes: all of them add up the whole row, so that no launch is needed
between the sum and the quantization, which takes longer."""
NORM_WARPS = 8
"""A row of 3,584 is then 14 numbers a thread; the order of their sum, and so its last bits, hang on this.
With 16 warps a step takes 1% longer on an H200."""

GATED_COLUMNS = 512
"""Columns of one program of the gated product: 37 programs of a 7B model's 18,944."""
GATED_WARPS = 4

HEAD_WARPS = 1
"""Warps of a head's program: inside of one, a Hadamard transform exchanges numbers without a barrier."""

EMBEDDED_COLUMNS = 512
"""Columns of an embedding that one program copies."""
EMBEDDING_WARPS = 4

SEARCHED_LOGITS = 1024
"""Logits that one program of the greedy choice reads: 149 programs of Qwen2.5's 152,064."""
SEARCH_WARPS = 4
CHOICE_WARPS = 4

INTERPRETED_COLUMNS = 2**15
"""The interpreter's time goes with programs and not with elements."""
