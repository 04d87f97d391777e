"""Escapes stored text for a prompt, so that it remains one item and plain text whatever it contains.

Everything that recollect puts into a prompt passes through this module. The rules do not depend on the content:

1. **Characters.** Invisible characters (Unicode categories Cc and Cf, the rest of Default_Ignorable_Code_Point, the
   tags and variation selectors that can carry hidden text) are removed; every Unicode line break becomes `\\n`. A
   reader then sees what a tokenizer sees, and nothing can hide in front of a word.
2. **Lines.** A text is either on one line after a prefix from its caller (`- `, `[user]: `), or each of its lines has
   the prefix `> `. Headings, delimiters and roles of a prompt are at the start of a line, and no line of an item starts
   with anything but its prefix. This holds for every spelling of a heading or role, in any language.
3. **Control tokens** of chat templates (`<|im_start|>`, `<start_of_turn>`, `<<SYS>>`, `</s>`, `[INST]`, `[|user|]`)
   work in the middle of a line, too, so a prefix is not enough. A tokenizer matches them as exact strings without white
   space; a space after the opening bracket breaks all of them, including future ones, and stays readable. Every `<`
   that could open a tag gets one; comparisons and arrows (`x <= 5`, `a <- b`) do not. Of square brackets only those
   that open a word in capitals, a `/` or a `|` get one: templates use no others, and `[ ]`, `[User]` and links are
   unchanged.
4. **Labels** (a source, a speaker) are placed between delimiters, `(date, source)`: all punctuation but a few marks
   becomes `_`, so that a label cannot close its bracket or imitate a second field. A colon stays only inside a word
   (`file:notes.md`), because one before a space ends the name of a speaker.

The project's text is written by the operator and is shown unchanged, with its headings: `operator_text()` applies rules
1 and 3, and the prefix of rule 2 only to a line that consists of a reserved heading or of dashes, because these are the
lines that end its section.
"""

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

__all__ = ["behind_label", "clean", "label", "one_line", "operator_text", "quoted", "skeleton"]

LEAD = "> "
LABEL_LENGTH = 60
"""Maximum length of a label in characters."""

# Listed explicitly, because the tables of unicodedata differ between Python versions and the same text must give the
# same bytes. Applied after splitting lines; tabs are kept.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_TOKEN = re.compile(r"[<\uff1c\ufe64](?=[^\s\d=-])|[\[\uff3b](?=[/|\uff0f\uff5c]|[a-z]?[A-Z]{2}\w{0,60}[\]\uff3d])")
_DASHES = re.compile(r"\s*(?:[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]\s*){3,}\Z")
_LABEL_MARKS = frozenset(" ._:/@+-")
_COLON = re.compile(r":(?!\S)")
_HEADING_LENGTH = 80
"""A longer line is not a heading, whatever its decoration."""


def clean(text: str) -> str:
    """Return the text without invisible characters, with `\\n` line breaks and broken control tokens."""
    return _TOKEN.sub(r"\g<0> ", _visible(text))


def one_line(text: str) -> str:
    """Return the text on one line, for a caller that adds its own prefix."""
    plain = " ".join(_visible(text).split())
    return _TOKEN.sub(r"\g<0> ", plain) if "<" in plain or "[" in plain or not plain.isascii() else plain


def quoted(text: str) -> str:
    """Return the text with the prefix `> ` on each line."""
    return "\n".join(f"{LEAD}{line}".rstrip() for line in clean(text).strip().split("\n"))


def behind_label(text: str) -> str:
    """Return the text to follow a label on the same line; each further line has the prefix `> `."""
    return quoted(text).removeprefix(LEAD.strip()).lstrip()


@lru_cache(256)  # the lines of a prompt share a few speakers and sources
def label(text: str) -> str:
    """Return a short name that is safe between punctuation marks."""
    whole = _COLON.sub("_", " ".join(_visible(text).split()))
    return "".join(map(_label_character, whole[:LABEL_LENGTH])) + ("…" if len(whole) > LABEL_LENGTH else "")


def operator_text(text: str, reserved: Collection[str]) -> str:
    """Return the text cleaned, with the prefix only on dashes and on lines whose `skeleton` is a reserved heading's."""
    return "\n".join(
        f"{LEAD}{line}" if _ends_section(line, reserved) else line for line in clean(text).strip().split("\n")
    )


def skeleton(heading: str) -> str:
    """Return the letters and digits of a heading, without case, accents and decoration."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", heading).casefold()))


def _visible(text: str) -> str:
    if text.isprintable():  # so it has no line breaks and no characters of Cc and Cf
        return _INVISIBLE.sub("", text) if not text.isascii() else text
    return "\n".join(_INVISIBLE.sub("", line) for line in text.splitlines())


def _label_character(character: str) -> str:
    kept = character.isalnum() or character in _LABEL_MARKS or unicodedata.category(character).startswith("M")
    return character if kept else "_"


def _ends_section(line: str, reserved: Collection[str]) -> bool:
    return _DASHES.match(line) is not None or (len(line) <= _HEADING_LENGTH and skeleton(line) in reserved)
