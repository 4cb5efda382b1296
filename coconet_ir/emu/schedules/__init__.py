"""Which of the things that may happen does: by a seed, or all of them."""
