"""Start-up logs of vLLM: what each worker's memory went to, and how many tokens were left for."""
