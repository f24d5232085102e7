"""Comparing two arms by a criterion that is written down before the first run that counts."""
