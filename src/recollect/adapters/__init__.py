"""Adapters for agent frameworks, one module each. Importing this package imports none of them."""
