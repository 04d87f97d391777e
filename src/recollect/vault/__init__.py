"""Notes as markdown files that users and programs may edit: the files, their links and their git history."""
