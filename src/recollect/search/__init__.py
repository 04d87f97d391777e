"""Find and rank. Knows nothing about who asks, and nothing about a particular database."""
