"""Attention over a key-value cache of 4-bit integers with one scale for each token and head."""
