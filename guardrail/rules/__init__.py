"""Rules turn measurements and bounds into verdicts; they measure nothing."""
