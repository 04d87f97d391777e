"""Notes as markdown files that people and programs may edit: the files, their links and their history in git."""
