"""Export and import: recollect's own format, files of other systems, and moving from one database to another."""
