"""Indexing, search and ranking. Independent of callers and of any particular database."""
