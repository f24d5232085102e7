"""What compiled kernels ask of a GPU, read without one: records, tables, arithmetic and parsing."""
