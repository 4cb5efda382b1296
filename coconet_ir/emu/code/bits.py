"""Functions of bits."""
