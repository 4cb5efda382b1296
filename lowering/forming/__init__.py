"""Which operations of one rank's program are one kernel."""
