"""What guardrail keeps on disk."""
