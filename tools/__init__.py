"""The command-line tools: arguments and printing only."""
