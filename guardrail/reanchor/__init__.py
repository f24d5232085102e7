"""Moving anchors: what is refused, what is measured again, and which lines change."""
