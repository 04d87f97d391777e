"""Links between entries: `[[name]]`, `[[name|text]]` and `[[name#part]]` in their content, and backlinks."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import NotFound
from recollect.model.entry import Entry
from recollect.storage import entries
from recollect.storage.database import Transaction

__all__ = ["Link", "Links", "containing", "links", "mentioning", "outside_code", "renamed", "targets", "without_code"]

_LINK = re.compile(r"\[\[([^\[\]\r\n]+)\]\]")
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.M | re.S)
_TICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class Link:
    """A parsed link: the target name, the display text, and the part of the entry."""

    name: str
    text: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The entries that an entry links to, its backlinks, and the names of its broken links."""

    out: tuple[Entry, ...] = ()
    back: tuple[Entry, ...] = ()
    broken: tuple[str, ...] = ()


def targets(content: str) -> list[Link]:
    """Return the links in a text in order, except those in code."""
    found = []
    for written in _LINK.findall(without_code(content)):
        target, _, text = written.partition("|")
        if target.strip():
            name, _, part = target.partition("#")
            name, part = name.strip(), part.strip()
            # In `C#` nothing follows the number sign, so it belongs to the name.
            whole = not name or not part
            found.append(Link(target.strip() if whole else name, text.strip() or None, None if whole else part))
    return found


def renamed(content: str, old: str, new: str) -> str:
    """Return a text with the links to one name changed to another; display texts, parts and code are kept."""
    link = re.compile(rf"(\[\[[ \t]*){re.escape(old)}(?=[ \t]*(?:\]\]|\\?\||#[^\[\]\r\n]))")
    return outside_code(content, lambda text: link.sub(lambda found: found[1] + new, text))


def outside_code(content: str, change: Callable[[str], str]) -> str:
    """Apply a function to the parts of a text that are not code."""
    pieces, end = [], 0
    for code in _code(content):
        pieces += [change(content[end : code.start]), content[code.start : code.stop]]
        end = code.stop
    return "".join([*pieces, change(content[end:])])


def without_code(content: str) -> str:
    """Remove fenced code blocks and inline code, which is enclosed by two runs of equally many backticks."""
    kept, end = [], 0
    for code in _code(content):
        kept.append(content[end : code.start])
        end = code.stop
    return " ".join([*kept, content[end:]])


def _code(content: str) -> Iterator[slice]:
    """Yield the spans of code: fenced blocks, and inline code between them."""
    end = 0
    for block in _FENCED.finditer(content):
        yield from _inline_code(content, end, block.start())
        yield slice(block.start(), block.end())
        end = block.end()
    yield from _inline_code(content, end, len(content))


def _inline_code(content: str, start: int, stop: int) -> Iterator[slice]:
    rows = list(_TICKS.finditer(content, start, stop))
    closing: dict[int, int] = {}  # length of a run -> index of the next run of that length
    closed_by: list[int | None] = [None] * len(rows)
    for place in reversed(range(len(rows))):
        length = len(rows[place][0])
        closed_by[place], closing[length] = closing.get(length), place
    place = 0
    while place < len(rows):
        last = closed_by[place]
        if last is not None:
            yield slice(rows[place].start(), rows[last].end())
            place = last
        place += 1


def links(stores: Sequence[Store], name_or_id: str) -> Links:
    """Return the links and backlinks of an entry, resolved by name and alias. Raises NotFound if it does not exist."""
    target = names.name(name_or_id, "name or id")
    known: dict[str, Entry | None] = {}

    def resolve(link: Link) -> Entry | None:
        # A name may itself contain `#` or `/`, so try the whole target first; the last part of a path is a file name.
        whole = [f"{link.name}#{link.part}", link.name] if link.part else [link.name]
        for name in filter(None, [*whole, link.name.rpartition("/")[2]]):
            if name not in known:
                known[name] = _found(stores, name)
            if known[name] is not None:
                return known[name]
        return None

    entry = _found(stores, target)
    if entry is None:
        raise NotFound(f"nothing is remembered under {target!r}; `list` and `recall` show what there is")
    out, broken = dict[str, Entry](), dict[str, None]()
    for link in targets(entry.content):
        other = resolve(link)
        if other is None:
            broken[link.name] = None
        else:
            out[other.id] = other
    back = [
        other
        for other in list(_mentioning(stores, [one for one in (entry.id, entry.name, *entry.aliases) if one]))
        if any((found := resolve(link)) is not None and found.id == entry.id for link in targets(other.content))
    ]
    back.sort(key=lambda other: (other.created_at, other.id), reverse=True)
    return Links(out=tuple(out.values()), back=tuple(back), broken=tuple(broken))


def _found(stores: Sequence[Store], target: str) -> Entry | None:
    for store in stores:
        with store.read() as tx:
            entry_id = entries.find(tx, target)
            if entry_id is not None:
                return entries.get(tx, entry_id)
    return None


def _mentioning(stores: Sequence[Store], words: Sequence[str]) -> Iterator[Entry]:
    """Yield entries that contain one of the names after `[[`, optionally with a space between, or after `/`."""
    for store in stores:
        with store.read() as tx:
            yield from containing(tx, [*_probes(words), *(f"/{word}" for word in words)])


def mentioning(tx: Transaction, words: Sequence[str]) -> Iterator[Entry]:
    """Yield the entries of one agent that contain one of the names after `[[`, optionally with a space between."""
    return containing(tx, _probes(words))


def _probes(words: Sequence[str]) -> list[str]:
    return [f"[[{space}{word}" for word in words for space in ("", " ")]


def containing(tx: Transaction, probes: Sequence[str]) -> Iterator[Entry]:
    """Yield the entries of one agent whose content contains one of the texts."""
    ids = sorted({entry_id for probe in probes for (entry_id,) in tx.all("entries.containing", probe=probe)})
    for start in range(0, len(ids), entries.CHUNK):
        yield from (found.entry for found in entries.stored(tx, ids[start : start + entries.CHUNK]).values())
