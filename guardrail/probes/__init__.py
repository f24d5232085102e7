"""Probes measure subjects; they never judge."""
