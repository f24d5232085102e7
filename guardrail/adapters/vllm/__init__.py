"""The plug-in for vLLM: its int4 KV caches are written and read by guardrail's kernels."""
