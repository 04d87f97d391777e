"""Translation to PostgreSQL: query parameters, column types of migrations, and the formats of vectors."""

import re
from array import array
from functools import cache

__all__ = ["translate_migration", "translate_query", "vector_from_binary", "vector_to_text"]

_PARAMETER = re.compile(r"(?<!:):(\w+)")
_JSON_ARRAY = re.compile(r"\bjson_each\((:\w+)\)")
_JSON_TEXT = re.compile(r"\bjson_quote\(")
_DIALECT = (
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) STRICT(, WITHOUT ROWID)?"), ")"),
)


@cache
def translate_query(text: str) -> bytes:
    """Convert a query to psycopg's parameter style, and the functions for JSON to PostgreSQL's."""
    text = _JSON_ARRAY.sub(r"json_array_elements(CAST(\1 AS json))", text.replace("%", "%%"))
    text = _JSON_TEXT.sub("to_json(", text)
    return _PARAMETER.sub(r"%(\1)s", text).encode()


def translate_migration(text: str) -> str:
    """Translate a migration to PostgreSQL's dialect."""
    for pattern, words in _DIALECT:
        text = pattern.sub(words, text)
    return text


def vector_to_text(values: bytes) -> str:
    """Convert a vector (little-endian f32) to pgvector's text format."""
    return f"[{','.join(map(repr, array('f', values)))}]"


def vector_from_binary(raw: bytes) -> bytes:
    """Convert pgvector's binary format (two 16-bit header words, then big-endian floats) to little-endian f32."""
    values = array("f", raw[4:])
    values.byteswap()
    return values.tobytes()
