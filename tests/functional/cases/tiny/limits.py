"""What the tile covers."""

TILE = 8
LONGEST = 12
