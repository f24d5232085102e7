"""Readers of what profilers write; each gives a `guardrail.records.launch.Trace`. Plain Python."""
