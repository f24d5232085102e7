"""A decoder with a q6_K gate of its own."""
