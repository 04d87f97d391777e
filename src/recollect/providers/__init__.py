"""Embedders and language models, behind the protocols in `base`. Each is imported on first use."""
