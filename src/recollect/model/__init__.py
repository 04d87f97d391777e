"""Values of the domain: frozen, typed, no I/O."""
