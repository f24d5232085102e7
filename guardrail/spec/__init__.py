"""The files a user writes: ``guards.yaml`` and ``profiles/``."""
