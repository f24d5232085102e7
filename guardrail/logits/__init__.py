"""First-step logits: dumps, how far two of them differ, and what that difference is called."""
