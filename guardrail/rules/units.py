"""Figures in the units that people read."""


def gibibytes(size: int) -> str:
    """Write a number of bytes: ``1.50 GiB``, ``500 MiB``."""
    return f"{size / (1 << 30):.2f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
