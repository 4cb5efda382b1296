"""Runs PTX of n ranks on this machine, under PTX's memory model. `docs/checker.md` says what it finds."""
