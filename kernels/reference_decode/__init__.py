"""A decode engine of reference: one step of a Llama-shaped model over the bundled kernels."""
