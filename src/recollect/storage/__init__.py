"""Rows in, values out; written once for both databases."""
