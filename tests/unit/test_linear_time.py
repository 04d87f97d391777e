"""Text of users is read in time that grows with its length, whatever it repeats. Ratios are compared, not times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import statements, text
from recollect.concepts import concept_tags
from recollect.engine.chunks import chunks
from recollect.model.history import Event, EventType
from recollect.providers import extractive
from recollect.transcripts import _by_user
from recollect.transfer.importers import memory_folder
from recollect.vault import links, markdown, path_links

LENGTH, LONGER = 4_000, 8
REPEATED = [
    " ",
    "\n",
    "\r\n",
    "\t",
    "`",
    "` ",
    "#",
    "# ",
    "## ",
    "-",
    "---\n",
    "|",
    "<",
    "[[",
    ".",
    ". ",
    ".)",
    "a",
    "a-",
    "a_",
    "'",
    "\\",
    "\u0301",
    "\u200b",
    "let me ",
    "ok, ",
    "decid",
    "<system-reminder>",
    "<system-reminder ",
    "</system-reminder>",
    "<!-- id:1 -->\n",
    "·",
    "\u6f22",
]
READERS: dict[str, Callable[[str], object]] = {
    "hook": _by_user,
    "links": links.targets,
    "links by path": lambda text: path_links.repointed(text, "ana/a.md", path_links.Moves("ana", ["ana"], {}.get)),
    "vault file": markdown.parse,
    "flat file": memory_folder.sections,
    "category file": memory_folder.entries,
    "terms": text.analyse,
    "sentences": text.sentences,
    "comparison": text.normalise,
    "tokens": text.estimate_tokens,
    "concepts": concept_tags,
    "insights": lambda content: statements.insights([("user", content), ("assistant", content)], wide=True),
    "insights by keywords": lambda content: statements.insights([("assistant", content)], wide=True, by="keywords"),
    "summary": lambda content: extractive.summarise([content], 2_000),
    "chunks": lambda content: chunks([Event(type=EventType.USER, content=content, seq=1)]),
}


def quickest(read: Callable[[str], object], content: str) -> float:
    """The processor time that it takes at best, and a millisecond where it is less than can be compared."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        read(content)
        taken.append(time.process_time() - start)
    return max(min(taken), 0.001)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_a_text_of_eight_times_the_length_takes_no_more_than_a_few_times_that(reader: str) -> None:
    read = READERS[reader]
    for repeated in REPEATED:
        for before, after in (("", ""), ("## a", "x")):
            short = before + repeated * (LENGTH // len(repeated)) + after
            long = before + repeated * (LONGER * LENGTH // len(repeated)) + after
            # Quadratic time would be 64 times as much.
            assert quickest(read, long) < 4 * LONGER * quickest(read, short), (repeated, before, after)


# What the program adds to a user's messages

ELEMENT = re.compile(r"<(system-reminder|bash-input|ide_[a-z_]+)\b[^>]*>.*?</\1>|</?command-args>", re.DOTALL)
PIECES = st.sampled_from(
    [
        "<system-reminder>",
        "</system-reminder>",
        "<system-reminder",
        "<bash-input a='b'>",
        "</bash-input>",
        "<ide_x>",
        "</ide_x>",
        "</ide_x",
        ">",
        "\n",
        "said ",
        "<command-args>",
        "</command-args>",
        "<system-reminders>",
    ]
)


@given(st.lists(PIECES).map("".join))
def test_elements_of_the_program_are_cut_and_the_rest_was_said(content: str) -> None:
    assert _by_user(content) == ELEMENT.sub("", content)


def test_an_interruption_is_not_said() -> None:
    assert _by_user("[Request interrupted by user for tool use]") == ""
    assert _by_user("Why [Request interrupted by user]?") == "Why [Request interrupted by user]?"
