"""A schedule as data: how operations are named and selected, and what each rewrite says it did."""
