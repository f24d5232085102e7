"""What the matrix-vector products of the k-quantized formats share: activations, gate rules, matrices."""
