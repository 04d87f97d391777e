"""What comes from outside: embedders, each behind the seam in `base`. None is imported before it is asked for."""
