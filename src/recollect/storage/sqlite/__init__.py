"""SQLite implementation of `Database`: one file, shared by many processes. The only package that imports apsw."""
