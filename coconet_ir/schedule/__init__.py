"""A schedule as data: its text and what applies it, how operations are named, what each rewrite says it did."""

MAX_NUMBER = 2**62
"""Largest magnitude of a number among the options: what rewrites keep as i64."""
