"""The steps from distributed programs down to kernels, one file a step."""
