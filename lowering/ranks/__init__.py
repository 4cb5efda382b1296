"""One rank's program: how it is made of a distributed one, and what is known of its sizes, reads and steps."""
