"""Fill the generated blocks of docs/python.md from the code: `.venv/bin/python scripts/python_reference.py`.

A block starts with `<!-- NAME -->` and ends with `<!-- end -->`; NAME is a public name such as `Memory.remember` or
`aio.open`. The script replaces what is between: the signature with short types, the docstring, the fields of a value.
Headings, order and examples are written by hand. `tests/docs/test_python_page.py` fails if a block is out of date or a
public name has none.
"""

import ast
import dataclasses
import enum
import inspect
import itertools
import json
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import recollect
import recollect.aio
import recollect.client
from recollect import errors
from recollect.model.history import Loaded
from recollect.model.recall import Why
from recollect.vault.links import Links
from recollect.vault.sync import Vault

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python.md"
COMMAND = ".venv/bin/python scripts/python_reference.py"
WIDTH = 100
LARGE = 1_000_000
"""A default above this means "no limit", and is shown as an ellipsis."""

BESIDE = {"Vault": Vault, "Links": Links, "Loaded": Loaded, "Why": Why}
"""Public types that methods return, but that `recollect` does not export."""
UNIONS = {"int | datetime | str": "Moment", "Add | Rename | Alias | Write | Remove": "Operation"}
"""Types that have a name in the source, which Python does not keep."""
NOUNS = (
    recollect.Home,
    recollect.Memory,
    recollect.Channels,
    recollect.Conversations,
    recollect.Conversation,
    recollect.Reminders,
    recollect.Review,
    recollect.Jobs,
    recollect.Tokens,
    recollect.Requests,
)
"""Classes whose every public method has a block."""
PARTS = {"MemoryReads"}
"""Base classes that are described as a part of the class that users see."""
SOLE = (recollect.Scratchpad, recollect.Settings, recollect.RecollectError, Vault)
"""Classes that are described without a list of their methods."""

_BLOCK = re.compile(r"<!-- (?P<name>(?!end )\S+) -->\n.*?<!-- end -->", re.DOTALL)
_ERROR = re.compile(rf"`[^`]*`|\b({'|'.join(errors.__all__)})\b")


def public_names() -> list[str]:
    """Return every name that needs a block."""
    names = [*recollect.__all__, *BESIDE]
    names += [f"client.{name}" for name in recollect.client.__all__]
    names += [f"aio.{name}" for name in recollect.aio.__all__]
    names += [f"{noun.__name__}.{name}" for noun in NOUNS for name in _members(noun)]
    return names


def block_names(page: str) -> list[str]:
    """Return the names of the blocks of a page, in order."""
    return [found["name"] for found in _BLOCK.finditer(page)]


def filled(page: str) -> str:
    """Return the page with every block made from the code."""
    return _BLOCK.sub(lambda found: f"<!-- {found['name']} -->\n{described(found['name'])}\n<!-- end -->", page)


def _member(owner: Any, name: str) -> Any:
    """Return a member as it was defined; the names of the package are imported on first use."""
    return getattr(owner, name) if inspect.ismodule(owner) else inspect.getattr_static(owner, name)


def described(name: str) -> str:
    """Return the markdown of a public name."""
    *path, last = name.split(".")
    owner: Any = recollect
    for part in path:
        owner = BESIDE.get(part) or inspect.getattr_static(owner, part)
    read = (
        getattr if inspect.ismodule(owner) else inspect.getattr_static
    )  # names of the package are imported on first use
    value: Any = BESIDE.get(name) or read(owner, last)
    if inspect.isclass(value):
        return _linked(_class(value, remote=owner is not recollect))
    if isinstance(value, types.UnionType):
        return _code(f"{name} = {' | '.join(one.__name__ for one in value.__args__)}")
    if isinstance(value, property):
        return _linked(f"{_code(f'{last}: {_returned(value.fget)}')}\n\n{inspect.getdoc(value)}")
    function = getattr(value, "__func__", value)
    return _linked(f"{_code(_signature(function, last))}\n\n{inspect.getdoc(function)}")


def _class(value: type, *, remote: bool) -> str:
    """Return the docstring of a class, with its values, fields or methods if these have no blocks of their own."""
    text = str(inspect.getdoc(value))
    if issubclass(value, enum.Enum):
        return f"{text}\n\n{_values(value)}{_extra(value)}"
    if dataclasses.is_dataclass(value):
        return f"{text}\n\n{_table(('field', 'type', 'default', 'meaning'), _fields(value))}{_extra(value)}"
    if remote:
        return f"{text}\n\nMethods: {', '.join(f'`{member}`' for member in _members(value))}."
    return text if issubclass(value, (*NOUNS, *SOLE)) else f"{text}{_extra(value)}"


def _members(owner: type) -> list[str]:
    """Return the public methods and properties of a class in the order of its source, then those of its base if that
    is a part of it and no public class.
    """
    kinds = [kind for kind in owner.__mro__ if kind is owner or kind.__name__ in PARTS]
    return [name for kind in kinds for name in vars(kind) if not name.startswith("_") and _is_member(vars(kind)[name])]


def _is_member(value: object) -> bool:
    return isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)


def _extra(owner: type) -> str:
    """Return the methods and properties of a value as a list."""
    lines = []
    for name in _members(owner):
        value: Any = inspect.getattr_static(owner, name)
        function = value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
        shown = name if isinstance(value, property) else _signature(function, name, width=10_000).split(" -> ")[0]
        first = str(inspect.getdoc(value)).split("\n\n")[0]
        lines.append(f"- `{shown}`: {' '.join(first.split())}")
    return "\n\n" + "\n".join(lines) if lines else ""


def _values(owner: type[enum.Enum]) -> str:
    notes = _notes(owner)
    shown = [(f"`{owner.__name__}.{one.name}`", f'`"{one.value}"`', notes.get(one.name, "")) for one in owner]
    if notes:
        return _table(("name", "value", "meaning"), shown)
    return f"Values: {', '.join(f'{name} ({value})' for name, value, _ in shown)}."


def _fields(owner: Any) -> list[tuple[str, ...]]:
    notes = _notes(owner)
    return [
        (f"`{one.name}`", f"`{_cell(_type(one.type))}`", _default(one), notes.get(one.name, ""))
        for one in dataclasses.fields(owner)
    ]


def _default(one: "dataclasses.Field[Any]") -> str:
    if one.default is not dataclasses.MISSING:
        return f"`{_value(one.default)}`"
    if one.default_factory is not dataclasses.MISSING:
        made = one.default_factory()
        return f"`{made!r}`" if made in ({}, [], ()) else ""
    return ""


def _type(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text).replace('"', "")
    for union, name in UNIONS.items():
        text = text.replace(union, name)
    return text


def _notes(owner: type) -> dict[str, str]:
    """Return the string below each attribute of a class, by the name of the attribute."""
    body = _class_node(owner).body
    found = {}
    for before, after in itertools.pairwise(body):
        target = before.target if isinstance(before, ast.AnnAssign) else None
        if isinstance(before, ast.Assign):
            target = before.targets[0]
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[target.id] = _cell(" ".join(str(after.value.value).split()))
    return found


def _class_node(owner: type) -> ast.ClassDef:
    node = ast.parse(inspect.cleandoc("\n" + inspect.getsource(owner))).body[0]
    assert isinstance(node, ast.ClassDef)
    return node


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line[column] for column in kept) + " |" for line in lines)


def _code(text: str) -> str:
    return f"```pyi\n{text}\n```"


def _returned(function: Callable[..., Any]) -> str:
    return _type(inspect.signature(function).return_annotation)


def _signature(function: Callable[..., Any], name: str, *, width: int = WIDTH) -> str:
    """Return a signature with short types, on one line if it fits, else with one parameter per line."""
    signature = inspect.signature(inspect.unwrap(function))
    parts, star = [], False
    for place, one in enumerate(signature.parameters.values()):
        if place == 0 and one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        text = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name
        star = star or one.kind is one.VAR_POSITIONAL
        if one.annotation is not one.empty:
            text += ": " + _type(one.annotation)
        if one.default is not one.empty:
            text += f" = {_value(one.default)}"
        parts.append(text)
    asynchronous = "async " if inspect.iscoroutinefunction(function) else ""
    end = f") -> {_type(signature.return_annotation)}"
    line = f"{asynchronous}{name}({', '.join(parts)}{end}"
    if len(line) <= width:
        return line
    return f"{asynchronous}{name}(\n" + "".join(f"    {part},\n" for part in parts) + end


def _value(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if callable(value) or (isinstance(value, int) and value > LARGE) or "environ" in repr(value):
        return "…"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _linked(text: str) -> str:
    """Return the text with links to the errors that it names; code blocks and tables stay as they are."""
    parts = []
    for part in re.split(r"\n\n+", text):
        if not part.startswith(("```", "|")):
            part = _ERROR.sub(lambda found: f"[`{found[1]}`](#errors)" if found[1] else found[0], part)
            part = part if part.startswith("- ") else " ".join(part.split())
        parts.append(part)
    return "\n\n".join(parts)


if __name__ == "__main__":
    now = PAGE.read_text(encoding="utf-8")
    made = filled(now)
    missing = sorted(set(public_names()) - set(block_names(made)))
    if missing:
        sys.exit(f"{PAGE.name} has no block for {', '.join(missing)}; add <!-- NAME -->, <!-- end --> under a heading")
    if made != now:
        PAGE.write_text(made, encoding="utf-8")
