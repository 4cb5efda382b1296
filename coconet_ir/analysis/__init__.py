"""What is true of a program: layouts, dimension rules, inference, names tied together, legality."""
