"""The values of the domain: frozen, typed, without input or output."""
