"""PostgreSQL implementation of `Database`: one schema per workspace and agent. The only package that imports psycopg.

Each transaction sets its search_path to the schema and runs the same SQL as on SQLite. Everything used here works on a
cluster that shards by schema: no triggers, no identity columns, no foreign keys.
"""
