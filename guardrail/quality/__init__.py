"""What an engine's answers say about its quality: perplexity, exact match, and how sure that is."""
