"""Root-mean-square normalization of rows, as a kernel family of a user's own."""
