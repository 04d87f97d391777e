"""Stored text as part of a prompt: whatever it holds, it stays one item, and it is text.

Everything that recollect puts into a prompt passes through this module. The rules do not depend on what the text says:

1. **Characters.** Invisible characters (Unicode categories Cc and Cf, the rest of Default_Ignorable_Code_Point, the
   tags and variation selectors that can carry hidden text) are removed; every line break of Unicode becomes `\\n`. What
   a reader sees is then what a tokenizer sees, and nothing can hide in front of a word.
2. **Lines.** A text is either on one line behind a lead of its caller (`- `, `[user]: `), or each of its lines has the
   lead `> `. Headings, delimiters and roles of a prompt stand at the start of a line, and no line of an item starts
   with anything but its lead. This holds for every spelling of a heading or role, in any language.
3. **Control tokens** of chat templates (`<|im_start|>`, `<start_of_turn>`, `<<SYS>>`, `</s>`, `[INST]`, `[|user|]`)
   work in the middle of a line, too, so a lead is not enough. A tokenizer knows them as exact strings without white
   space; a space behind the opening bracket breaks all of them, also those that do not exist yet, and stays readable.
   Every `<` that could open a tag gets one; comparisons and arrows (`x <= 5`, `a <- b`) do not. Of square brackets only
   those that open a word in capitals, a `/` or a `|` get one: templates use no others, and `[ ]`, `[User]` and links
   stay as they are.
4. **Labels** (a source, a speaker) stand among characters that have a meaning there, `(date, source)`: all punctuation
   but a few marks becomes `_`, so that a label cannot end its bracket or imitate a second field.

The project's text is written by the operator and is shown as it is, with its headings: `operator_text()` applies rules
1 and 3, and the lead of rule 2 only to a line that says nothing but one of the reserved headings, or is a rule of
dashes, because these are the lines that end its section.
"""

import re
import unicodedata
from collections.abc import Collection

__all__ = ["behind_label", "clean", "label", "one_line", "operator_text", "quoted", "skeleton"]

LEAD = "> "
LABEL_LENGTH = 60
"""Characters of a label that are shown."""

# Written out, because the tables of unicodedata differ between versions of Python and the same text must give the same
# bytes. Line breaks are gone by then, and tabs stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_TOKEN = re.compile(r"[<\uff1c\ufe64](?=[^\s\d=-])|[\[\uff3b](?=[/|\uff0f\uff5c]|[a-z]?[A-Z]{2}\w{0,60}[\]\uff3d])")
_DASHES = re.compile(r"\s*(?:[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]\s*){3,}\Z")
_LABEL_MARKS = frozenset(" ._:/@+-")
_HEADING_LENGTH = 80
"""A longer line is no heading, whatever decorates it."""


def clean(text: str) -> str:
    """The text without invisible characters, its lines ending in `\\n`, its control tokens broken."""
    return _TOKEN.sub(r"\g<0> ", _visible(text))


def one_line(text: str) -> str:
    """The text on one line, for a caller that puts its own lead before it."""
    return _TOKEN.sub(r"\g<0> ", " ".join(_visible(text).split()))


def quoted(text: str) -> str:
    """The text on lines of its own, each with the lead `> `."""
    return "\n".join(f"{LEAD}{line}".rstrip() for line in clean(text).strip().split("\n"))


def behind_label(text: str) -> str:
    """The text behind a label on the same line; each further line has the lead `> `."""
    return quoted(text).removeprefix(LEAD.strip()).lstrip()


def label(text: str) -> str:
    """A short name that can stand between punctuation marks."""
    whole = " ".join(_visible(text).split())
    return "".join(map(_label_character, whole[:LABEL_LENGTH])) + ("…" if len(whole) > LABEL_LENGTH else "")


def operator_text(text: str, reserved: Collection[str]) -> str:
    """The text as it is, with the lead only on lines that would pass for the `skeleton` of a reserved heading."""
    return "\n".join(
        f"{LEAD}{line}" if _ends_section(line, reserved) else line for line in clean(text).strip().split("\n")
    )


def skeleton(heading: str) -> str:
    """The letters and digits of a heading, without case, accents and decoration."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", heading).casefold()))


def _visible(text: str) -> str:
    if text.isprintable():  # then it has neither line breaks nor characters of Cc and Cf
        return _INVISIBLE.sub("", text) if not text.isascii() else text
    return "\n".join(_INVISIBLE.sub("", line) for line in text.splitlines())


def _label_character(character: str) -> str:
    kept = character.isalnum() or character in _LABEL_MARKS or unicodedata.category(character).startswith("M")
    return character if kept else "_"


def _ends_section(line: str, reserved: Collection[str]) -> bool:
    return _DASHES.match(line) is not None or (len(line) <= _HEADING_LENGTH and skeleton(line) in reserved)
