"""Programmatic dependent launch: a kernel starts while the one ahead of it in the stream still runs."""
