"""coconet-ir: a compiler that optimises across the computation and communication of distributed programs."""
