"""The memory of one rank's program."""
