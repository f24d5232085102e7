"""Statistics of noisy samples: intervals, paired comparisons, sequential looks. Plain Python."""
