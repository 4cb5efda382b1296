"""PTX as data."""
