"""Memory of all ranks, and PTX's memory model."""
