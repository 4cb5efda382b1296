"""What is wrong with a run, and why, as data and in words."""
