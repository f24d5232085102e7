"""Where dumps of logits come from, and the files that they are kept in."""
