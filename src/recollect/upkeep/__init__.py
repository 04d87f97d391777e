"""Background jobs: the job table and the runner."""
