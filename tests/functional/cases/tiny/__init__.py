"""A family of one gate, whose arms are written in torch."""
