"""What one stage hands to the next: measurements, verdicts, reports."""
