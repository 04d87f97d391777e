"""Reader for Gemini in a Google Takeout: the activity, as JSON or as the page that Takeout makes by default, and the
history of conversations that accounts of organisations get, one JSON document per file.

The activity is a list of prompts with their answers and has no chats. Prompts that link to the same chat are one
conversation; of the others, those that follow each other within half an hour are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from recollect.clock import iso
from recollect.transfer.archive import opened
from recollect.transfer.importers.dates import spoken_date
from recollect.transfer.importers.reading import clean, line, mapping, mappings, moment, objects
from recollect.transfer.importers.values import ImportedChat, ImportedItem, ImportedMessage, LeftOut, Read

__all__ = ["is_activity", "is_conversation", "is_page", "read"]

PAUSE = 30 * 60 * 1_000
"""Milliseconds of silence after which a new conversation begins."""
_PROMPTED = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Branched|Answered)\s+", re.IGNORECASE)
_OTHER = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Visited|Edited|Pinned|Renamed|Exported|Updated)\b"
)
"""How titles begin that are no prompts. A title in another language is one if it has an answer."""
_ATTACHED = re.compile(r"\s*Attached \d+ files?\.?\s*\Z")
_CHAT = re.compile(r"gemini\.google\.com/app/(?:c_)?(\w+)")
_BLOCKS = {"p", "div", "ul", "ol", "table", "tr", "pre", "blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6"}


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One prompt with its answer."""

    text: str
    answer: str
    at: int | None
    _: KW_ONLY
    chat: str | None = None


def is_activity(value: Mapping[str, Any]) -> bool:
    """True if an object is a record of an activity."""
    return "title" in value and "time" in value and ("header" in value or "products" in value)


def is_conversation(value: Mapping[str, Any]) -> bool:
    """True if an object is a conversation of the history."""
    return isinstance(value.get("conversation_turns"), list)


def is_page(text: str) -> bool:
    """True if the beginning of a page is an activity of Gemini."""
    return "outer-cell" in text and _of_gemini(text)


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the conversations, oldest first."""
    missed: Counter[str] = Counter()
    records = _page(path) if path.suffix.lower() in (".html", ".htm") else objects(path, done)
    prompts: list[_Prompt] = []
    for record in records:
        if is_conversation(record):
            yield _conversation(record, path.stem, missed)
        elif (prompt := _prompt(record, missed)) is not None:
            prompts.append(prompt)
    for identity, group in _grouped(sorted(prompts, key=lambda prompt: prompt.at or 0)).items():
        messages = []
        for prompt in group:
            messages.append(ImportedMessage(prompt.text, True, at=prompt.at))
            if prompt.answer:
                messages.append(ImportedMessage(prompt.answer, False, at=prompt.at))
        yield ImportedChat(id=f"gemini/{identity}", messages=messages, started=group[0].at)
    yield LeftOut(+missed)


def _conversation(found: Mapping[str, Any], stem: str, missed: Counter[str]) -> ImportedChat:
    """Return a conversation of the history. Its id is that of the file, which counts from 1, and when it began."""
    started = moment(found.get("creation_time"))
    messages = []
    for turn in mappings(found.get("conversation_turns")):
        for side in ("user_turn", "system_turn"):
            said = mapping(turn.get(side))
            if said.get("turn_deleted_time"):
                missed["deleted turn"] += 1
                continue
            missed["thought"] += len(mappings(said.get("model_thoughts")))
            parts = [clean(said.get("prompt"))]
            for part in mappings(said.get("text")):
                parts += [
                    clean(part.get("data")),
                    *(clean(card.get("content")) for card in mappings(part.get("cards"))),
                ]
            images = said.get("images")
            parts += [f"[{line(one)}]" for one in images if line(one)] if isinstance(images, list) else []
            text = "\n".join(part for part in parts if part.strip())
            if text:
                at = moment(said.get("turn_last_modified"))
                messages.append(ImportedMessage(text, side == "user_turn", at=at))
    identity = f"gemini/{stem}/{iso(started or 0)}"
    return ImportedChat(id=identity, messages=messages, title=line(found.get("title"), 1_000), started=started)


def _grouped(prompts: list[_Prompt]) -> dict[str, list[_Prompt]]:
    groups: dict[str, list[_Prompt]] = {}
    identity, last = "", None
    for prompt in prompts:
        if prompt.chat is not None:
            groups.setdefault(prompt.chat, []).append(prompt)
            continue
        if last is None or (prompt.at or 0) - last > PAUSE:
            identity = iso(prompt.at or 0)
        groups.setdefault(identity, []).append(prompt)
        last = prompt.at or 0
    return groups


def _prompt(record: Mapping[str, Any], missed: Counter[str]) -> _Prompt | None:
    """Return the prompt of a record; None, counted, if it is something else."""
    products = record.get("products")
    labels = [record.get("header"), *(products if isinstance(products, list) else ())]
    if not _of_gemini(" ".join(label for label in labels if isinstance(label, str))):
        missed["activity of other products"] += 1
        return None
    title = clean(record.get("title")).strip()
    answers = [_text(clean(item.get("html"))) for item in mappings(record.get("safeHtmlItem"))]
    answer = "\n\n".join(one for one in answers if one)
    said = _PROMPTED.match(title)
    text = _ATTACHED.sub("", title[said.end() :] if said else title).strip()
    if not text or (said is None and (_OTHER.match(title) or not answer)):
        missed["activity that is no prompt"] += 1
        return None
    attached = record.get("attachedFiles")
    names = [line(one) for one in attached] if isinstance(attached, list) else []
    text = "\n".join([text, *(f"[{one}]" for one in names if one)])
    chat = _CHAT.search(clean(record.get("titleUrl")))
    return _Prompt(text, answer, moment(record.get("time")), chat=chat[1] if chat else None)


def _of_gemini(text: str) -> bool:
    return "gemini" in text.lower() or "bard" in text.lower()


def _text(html: str) -> str:
    parser = _PlainText()
    parser.feed(html)
    parser.close()
    return parser.text()


def _page(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the cards of a page in the form of the records of the JSON."""
    with opened(path) as file:
        page = file.read().decode("utf-8-sig", "replace")
    for card in page.split('class="outer-cell')[1:]:
        header, _, rest = card.partition('class="content-cell')
        body = rest.partition(">")[2].partition('<div class="content-cell')[0]
        # The prompt has no element of its own: it ends where a line is a date, and what follows is the answer.
        lines = re.split(r"<br\s*/?>", body)
        texts = [_text(one) for one in lines]
        dated = next((number for number, one in enumerate(texts) if spoken_date(one.split("\n")[0]) is not None), None)
        if dated is None:
            yield {"header": _text(header.partition(">")[2])}
            continue
        date, _, after = lines[dated].partition("<p")
        answer = "<br>".join([f"<p{after}" if after else "", *lines[dated + 1 :]])
        yield {
            "header": _text(header.partition(">")[2]),
            "title": "\n".join(texts[:dated]),
            "titleUrl": "".join(re.findall(r'href="([^"]*gemini\.google\.com/app/[^"]*)"', body)[:1]),
            "time": iso(spoken_date(_text(date)) or 0),
            "safeHtmlItem": [{"html": answer}],
        }


class _PlainText(HTMLParser):
    """The text of HTML, with line breaks where blocks end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._parts.append("\n- " if tag == "li" else "\n" if tag == "br" else "\n\n" if tag in _BLOCKS else "")

    def handle_endtag(self, tag: str) -> None:
        self._parts.append("\n\n" if tag in _BLOCKS else "")

    def handle_data(self, data: str) -> None:
        self._parts.append(data)

    def text(self) -> str:
        """Return what was read so far."""
        text = "".join(self._parts).replace("\xa0", " ")
        return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]*\n[ \t]*", "\n", text)).strip()
