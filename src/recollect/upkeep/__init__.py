"""All background work: the table of jobs, and what runs them."""
