"""Format-preserving edits of TOML text with tomlkit: one table is set or removed, everything else stays unchanged.

Pure functions: nothing here reads or writes a file. Each edit is verified by parsing its result with the standard
library; if it is not the old value with the one change, Invalid is raised. tomlkit is loaded for an edit only.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from recollect.errors import ConfigError, Invalid

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Item

__all__ = ["drop_toml", "read_toml", "set_toml"]

BOM = "\ufeff"


def read_toml(text: str) -> dict[str, Any]:
    """Parse TOML."""
    try:
        return tomllib.loads(text.removeprefix(BOM))
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"not valid TOML: {error}") from None
    except RecursionError:
        raise Invalid("nested too deeply") from None


def set_toml(text: str, path: tuple[str, str], value: Mapping[str, Any]) -> str:
    """Set a table at a path of two keys; the comments of an existing one stay."""
    outer, key = path
    expected = read_toml(text)
    parent = expected.setdefault(outer, {})
    if not isinstance(parent, dict):
        raise Invalid(f"{outer} has an unexpected type")
    parent[key] = value
    document = _parsed(text)
    import tomlkit

    tables: Any = document.setdefault(outer, tomlkit.table(is_super_table=True))
    known = tables.get(key)
    if isinstance(known, Mapping):
        _update(known, value)
    else:
        tables[key] = value
        if [*document][-1] != outer and not isinstance(tables[key], tomlkit.items.InlineTable):
            tables[key].add(tomlkit.nl())  # before the next table
    return _rendered(document, text, expected, path)


def drop_toml(text: str, path: tuple[str, str]) -> str:
    """Remove the table at a path of two keys; return the text unchanged if there is none."""
    outer, key = path
    expected = read_toml(text)
    parent = expected.get(outer)
    if not isinstance(parent, dict) or key not in parent:
        return text
    del parent[key]
    document = _parsed(text)
    tables: Any = document[outer]
    comments = [*_trailing_comments(tables[key])]
    names = [*tables]
    place = names.index(key)
    del tables[key]
    if place:
        for comment in comments:
            tables[names[place - 1]].add(comment)
    else:
        first = next(n for n, (name, _) in enumerate(document.body) if name is not None and name.key == outer)
        document.body[first:first] = [(None, comment) for comment in comments]
    return _rendered(document, text, expected, path)


def _parsed(text: str) -> "TOMLDocument":
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise ConfigError(f"editing TOML requires the package {error.name}: {ConfigError.install('server')}") from None
    text = text.removeprefix(BOM)
    try:
        return tomlkit.parse(text if text.endswith("\n") or not text else f"{text}\n")
    except (tomlkit.exceptions.TOMLKitError, RecursionError):
        raise Invalid("cannot be edited safely") from None


def _update(table: Any, value: Mapping[str, Any]) -> None:
    """Make a table equal to a value, touching only what differs."""
    for key in [key for key in table if key not in value]:
        table.remove(key)
    for key, one in value.items():
        if isinstance(one, Mapping) and isinstance(table.get(key), Mapping):
            _update(table[key], one)
        elif table.get(key) != one:
            table[key] = one


def _trailing_comments(table: Any) -> Iterator["Item"]:
    """Yield the comments at the end of a table. For tomlkit they belong to it; for people, to the next table."""
    from tomlkit.items import Comment, Table

    body = table.value.body if isinstance(table, Table) else []
    if body and isinstance(body[-1][1], Table):
        yield from _trailing_comments(body[-1][1])
        return
    last = next((n for n, (key, _) in reversed([*enumerate(body)]) if key is not None), -1)
    yield from dropwhile(lambda item: not isinstance(item, Comment), (item for _, item in body[last + 1 :]))


def _rendered(document: "TOMLDocument", text: str, expected: Mapping[str, Any], path: Sequence[str]) -> str:
    """Return the document as text, with the line breaks and BOM of the old one, if it parses to the expected value."""
    made = document.as_string()
    if "\r\n" in text:
        made = made.replace("\r\n", "\n").replace("\n", "\r\n")
    try:
        same = _full(read_toml(made)) == _full(expected)
    except Invalid:
        same = False
    if not same:
        raise Invalid(f"[{'.'.join(path)}] cannot be edited safely")
    return BOM + made if text.startswith(BOM) else made


def _full(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out empty tables: they may disappear with the last table in them."""
    return {key: one for key, one in tables.items() if one != {}}
