"""What comes from outside: embedders and language models, behind the seams in `base`. Imported when asked for."""
