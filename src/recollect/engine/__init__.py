"""The verbs; one file, one family. The engine never names a database."""
