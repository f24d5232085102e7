"""The q8 activation format and the limit between a matrix-vector product and its fallback."""

GROUP_ELEMENTS = 32
"""Activations of one q8 group: they share a scale."""
GROUP_BYTES = 40
"""Bytes of one q8 group: f16 scale, 2 bytes of padding, 32 signed bytes, i32 sum of them."""
GROUP_VALUES_OFFSET = 4
GROUP_SUM_OFFSET = 36
LARGEST_VALUE = 127
"""Largest magnitude of a quantized activation."""

BLOCK_ELEMENTS = 256
"""Weights in one block of every k-quantized format."""

MATVEC_THRESHOLD = 4_000_000
"""Elements of the smallest matrix that a matrix-vector arm serves, where an engine says nothing else."""

QUANTIZED_GROUPS = 8
"""Groups that one program quantizes."""
QUANTIZE_WARPS = 2
"""Warps of a quantizing program: four elements a thread."""

UNNORMALIZED_BYTES = 36
"""Bytes of one group whose scale lacks the factor of a norm: f32 scale, 32 signed bytes."""
UNNORMALIZED_VALUES_OFFSET = 4
