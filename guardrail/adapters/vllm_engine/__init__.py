"""Engines under test: offline ones in a process of their own, and running servers."""
