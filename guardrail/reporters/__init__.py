"""How a run is shown and saved: text made of records, and nothing else."""
