"""Readers of what benchmarks write: one metric out of a text, a JSON document or a known format."""
