"""The texts of the page: complete in every language, all in use, and no text of a view outside of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect

STATIC = Path(recollect.__file__).parent / "ui/static"
LANGUAGES = ("en", "pt", "de", "es")
NOT_TRANSLATED = {"autosave.js", "loading.js", "storage.js"}
"""autosave.js runs on other pages, loading.js must work without any other file, storage.js shows nothing."""
WORDS = {"texts.js", "words.js"}
"""Modules with literals that are words of a language: the names of the languages, the stop words of a search."""
CODE = {
    *("not an answer of recollect", "recollect token create NAME", "recollect token create NAME --right admin"),
    *("(prefers-color-scheme: dark)", "Control+Enter", "Enter", "Escape", "Arrow", "ArrowDown", "ArrowUp", "Esc"),
    *("ArrowLeft", "ArrowRight", "Files"),
    *("AbortError", "Claude Code", "Python", "Bearer rcl_…", " --header 'Authorization: Bearer rcl_…'"),
    *("CompactMarker", "ToolResultCommitted", "UserMsg", "ModelOutput", "InjectedInstruction", "CoreJobStart"),
}
"""Literals that are words and not texts: keys of the keyboard, commands, products, types of events."""
EXAMPLE = re.compile(r"import recollect|    mem\.|  -H '")
"""The beginning of a literal with an example of code."""
ATTRIBUTE = re.compile(r"(?:\b(?:class|kind|rel): [^,]*|(?:querySelector(?:All)?|closest|matches)(?:\?\.)?\()$")
"""Code before a literal that is not shown: classes and selectors."""
TEXT = re.compile(r"^[A-Z][a-z]+|[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}|[A-Za-z]{3,}[.!?…]$")
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<template>`)
      | (?P<open>\{) | (?P<close>\})
      | (?P<regex>(?<=[(,=:\[!&|?{};\n])\s*/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)""",
    re.VERBOSE | re.DOTALL,
)


def modules() -> list[str]:
    """Return the modules of the page that show text."""
    found = (path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))
    return sorted(name for name in found if not name.startswith("texts/") and name not in NOT_TRANSLATED)


def table(language: str) -> dict[str, str | dict[str, str]]:
    """Return the texts of a language."""
    body = (STATIC / "texts" / f"{language}.js").read_text(encoding="utf-8").partition("export default ")[2]
    found: dict[str, str | dict[str, str]] = json.loads(body.rstrip().removesuffix(";"), object_pairs_hook=_unique)
    return found


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    assert len({key for key, _ in pairs}) == len(pairs), "a key occurs twice"
    return dict(pairs)


def literals(source: str) -> Iterator[tuple[str, str]]:
    """Yield the string literals of a module, each with the code before it; a template without its expressions."""
    yield from _scan(source, 0, len(source))


def _scan(source: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    at = start
    while match := TOKEN.search(source, at, end):
        at = match.end()
        before = source[max(0, match.start() - 60) : match.start()]
        if match["string"]:
            yield before, match["string"][1:-1]
        elif match["template"]:
            at, text, expressions = _template(source, at)
            yield before, text
            for first, last in expressions:
                yield from _scan(source, first, last)


def _template(source: str, at: int) -> tuple[int, str, list[tuple[int, int]]]:
    """Return the end of a template, its text with `${}` for each expression, and where the expressions are."""
    text, expressions = "", list[tuple[int, int]]()
    while source[at] != "`":
        if source[at] == "\\":
            text, at = text + source[at : at + 2], at + 2
        elif source.startswith("${", at):
            end = _closing(source, at + 2)
            expressions.append((at + 2, end))
            text, at = text + "${}", end + 1
        else:
            text, at = text + source[at], at + 1
    return at + 1, text, expressions


def _closing(source: str, at: int) -> int:
    """Return where the expression of a template ends."""
    depth = 0
    while match := TOKEN.search(source, at):
        at = match.end()
        if match["template"]:
            at = _template(source, at)[0]
        elif match["open"]:
            depth += 1
        elif match["close"] and depth == 0:
            return match.start()
        elif match["close"]:
            depth -= 1
    raise AssertionError("an expression of a template does not end")


def read(name: str) -> str:
    """Return the source of a module."""
    return (STATIC / name).read_text(encoding="utf-8")


def used() -> tuple[set[str], set[str]]:
    """Return all literals of the page, and the beginnings of keys that are made from a template."""
    found = {text for name in modules() for _, text in literals(read(name))}
    return found, {text.partition("${}")[0] for text in found if re.match(r"[a-z]\w*\.[\w.]*\$\{\}$", text)}


def test_every_language_has_the_same_keys() -> None:
    english = set(table("en"))
    assert english
    for language in LANGUAGES:
        assert (language, set(table(language)) ^ english) == (language, set())


def test_every_language_fills_in_the_same_values_and_has_the_plural_forms() -> None:
    def names(text: str | dict[str, str]) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", " ".join(text.values()) if isinstance(text, dict) else text))

    english = table("en")
    for language in LANGUAGES:
        for key, text in table(language).items():
            assert (language, key, names(text) | {"count"}) == (language, key, names(english[key]) | {"count"})
            assert (language, key, isinstance(text, dict)) == (language, key, isinstance(english[key], dict))
            if isinstance(text, dict):
                assert (language, key, {"one", "other"} <= set(text)) == (language, key, True)


def test_every_key_that_the_page_uses_exists() -> None:
    keys = set(table("en"))
    for name in modules():
        asked = re.findall(r"\b(?:t|textParts)\(\s*\"([^\"]+)\"", read(name))
        assert (name, set(asked) - keys) == (name, set())
    _, beginnings = used()
    assert {one for one in beginnings if not any(key.startswith(one) for key in keys)} == set()


def test_every_key_is_used() -> None:
    found, beginnings = used()
    unused = {key for key in table("en") if key not in found and not any(key.startswith(one) for one in beginnings)}
    assert unused == set()


@pytest.mark.parametrize("name", sorted(set(modules()) - WORDS))
def test_no_view_contains_a_text(name: str) -> None:
    keys = set(table("en"))
    texts = [
        text
        for before, text in literals(read(name))
        if TEXT.search(text.replace("${}", " "))
        and text not in CODE | keys
        and not ATTRIBUTE.search(before)
        and not EXAMPLE.match(text)
    ]
    assert texts == []


def test_a_text_in_a_view_is_found() -> None:
    source = 'h("p", { class: "a row" }, `${many(2, "day")} have passed`, t("a.b"), /"No text"/, "Done") // "Not this"'
    assert [text for _, text in literals(source)] == ["p", "a row", "${} have passed", "day", "a.b", "Done"]
