"""Memory that travels: our own export, other systems' files, and the way from one database to another."""
