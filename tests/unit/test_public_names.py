"""The names a module offers: listed, sorted, there, and explained."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from sources import members, parsed

import recollect

PACKAGE = Path(recollect.__file__).parent
HANDED = {"command", "callback", "get", "post", "put", "patch", "delete"}
"""Decorators of the surfaces: what they decorate is a command or a route."""


def module_names() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] != "__main__":
            yield ".".join(parts).removesuffix(".__init__")


FRAMEWORKS = {
    f"recollect.adapters.{path.stem}"
    for path in (PACKAGE / "adapters").glob("*.py")
    if "raise missing(" in path.read_text()
}
"""Modules that need a package of their own; the suite of each framework imports them."""
MODULES = [name for name in module_names() if name not in FRAMEWORKS]


def source_of(name: str) -> ast.Module:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return parsed(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))


@cache
def imported_names() -> dict[str, set[str]]:
    """For each module of the package, the names that other modules import from it."""
    taken: dict[str, set[str]] = {name: set() for name in MODULES}
    for importer in MODULES:
        for node in ast.walk(source_of(importer)):
            if isinstance(node, ast.ImportFrom) and node.module in taken and node.module != importer:
                names = {alias.name for alias in node.names}
                taken[node.module] |= {name for name in names if f"{node.module}.{name}" not in taken}
    return taken


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, each by the alphabet: as the formatter sorts them."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether a decorator registers the function with a surface, which calls it; no module imports it."""
    calls = [decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    return any(isinstance(call, ast.Attribute) and call.attr in HANDED for call in calls)


def defined_names(name: str) -> set[str]:
    """The public functions and classes that a module defines, except commands and routes."""
    return {
        node.name
        for node in source_of(name).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not is_command(node)
    }


def test_every_public_function_and_class_and_all_that_others_use_is_listed() -> None:
    for name in MODULES:
        needed = defined_names(name) | {taken for taken in imported_names()[name] if not taken.startswith("_")}
        listed = importlib.import_module(name).__all__ if needed else ()
        assert needed <= set(listed), f"{name} does not list {sorted(needed - set(listed))}"


def test_what_is_listed_is_there_sorted_and_listed_once() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", [])
        assert [item for item in listed if not hasattr(module, item)] == [], name
        assert list(listed) == sorted(set(listed), key=order), name
        assert [item for item in listed if item.startswith("_")] == [], name


def test_no_module_takes_a_private_name_from_another() -> None:
    for name in MODULES:
        for node in ast.walk(source_of(name)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recollect"):
                assert [alias.name for alias in node.names if alias.name.startswith("_")] == [], name


def explained(value: object) -> bool:
    """Whether the source of a function or class begins with a docstring; a dataclass has a made one otherwise."""
    return bool(ast.get_docstring(ast.parse(inspect.cleandoc("\n" + inspect.getsource(value))).body[0]))  # type: ignore[arg-type]


def public_things(module: ModuleType) -> Iterator[tuple[str, object]]:
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value
        if inspect.isclass(value):
            for attribute, member in members(value).items():
                inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                if inspect.isfunction(inner):
                    yield f"{name}.{attribute}", inner


def test_every_public_name_is_explained() -> None:
    things = [(name, *thing) for name in MODULES for thing in public_things(importlib.import_module(name))]
    assert [(name, thing) for name, thing, value in things if not value.__doc__] == []


def test_the_package_offers_what_a_user_needs_and_the_docstrings_are_written_by_hand() -> None:
    assert {"open", "Home", "Memory", "Entry", "Hit", "Add", "Rename", "Alias", "Write", "Remove"} <= set(
        recollect.__all__
    )
    things = dict(public_things(recollect))
    assert {"Memory.remember", "Memory.recall", "Home.agent", "Home.check", "Report.ok"} <= things.keys()
    for name, value in things.items():
        if inspect.isclass(value):
            assert explained(value), name


def test_every_error_of_the_tree_is_offered_by_the_package() -> None:
    from recollect import errors

    for name in errors.__all__:
        assert getattr(recollect, name) is getattr(errors, name)
        assert issubclass(getattr(errors, name), recollect.RecollectError)
        assert name in (errors.__doc__ or "")


def test_the_version_is_that_of_the_project() -> None:
    pyproject = (PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{recollect.__version__}"\n' in pyproject
