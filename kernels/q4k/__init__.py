"""The q4_K x q8 matrix-vector product of decode, with its gate, its reference and its negative controls."""
