"""Example data: what an agent and a small team might have stored over six weeks of building a web shop.

The story is always the same and ends at a given time; only ids differ. story.toml holds it, and also the words from
which further entries are generated.
"""

import random
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any

from recollect.clock import FixedClock
from recollect.model.entry import Category, Lifetime, Scope
from recollect.model.operation import Add, Alias, Rename, Write

if TYPE_CHECKING:
    from recollect.conversation import Conversation
    from recollect.home import Home
    from recollect.memory import Memory

__all__ = ["HELPER", "fill"]

HOUR = 3_600_000
DAY = 24 * HOUR
BATCH = 8_192
HELPER = "scout"
"""A second agent, which looks things up for the first."""


def fill(home: "Home", clock: FixedClock, agent: str, workspace: str, *, now: int, more: int = 0) -> int:
    """Write the story into an empty memory, and `more` generated entries; return the agent's number of entries."""
    story = tomllib.loads((files("recollect.cli") / "story.toml").read_text(encoding="utf-8"))
    memory, scout = home.agent(agent, workspace), home.agent(HELPER, workspace)
    clock.set(now - 42 * DAY)
    memory.channels.create("release", "Getting the shop online")
    memory.channels.create("design", "How it looks and reads")
    for scene in story["scenes"]:
        clock.set(max(clock.now(), _moment(now, scene.pop("days"))))
        _play(home, workspace, memory, scout, clock, scene)
    _today(memory, now)
    clock.set(now)
    home.flush()
    written = len(memory.list(limit=1_000))
    drafts = _generated(story["words"], more, now)
    while batch := list(islice(drafts, BATCH)):
        memory.remember_many(batch)
    return written + more


def _moment(now: int, days: float) -> int:
    """Return the time some days before now; on days before today moved into working hours, between eight and five."""
    if days < 1:
        return now - round(days * DAY)
    whole = ceil(days)
    return now // DAY * DAY - whole * DAY + 8 * HOUR + round((whole - days) * 9 * HOUR)


def _play(
    home: "Home", workspace: str, memory: "Memory", scout: "Memory", clock: FixedClock, scene: dict[str, Any]
) -> None:
    match scene.pop("do"), scene:
        case "note", fields:
            memory.remember(**fields)
        case "found", fields:
            scout.remember(**fields, source="web")
        case "know", fields:
            memory.upsert(**fields)
        case "write", {"name": name, **changes}:
            memory.apply(Write(name, **changes))
        case "rename", {"name": name, "new": new}:
            memory.apply(Rename(name, new))
        case "alias", {"name": name, "new": new}:
            memory.apply(Alias(name, new))
        case "forget", {"name": name}:
            memory.forget(name)
        case "ask", {"query": query}:
            memory.recall(query, limit=4)
            home.flush()
        case "job", {"name": name}:
            home.jobs.run(name, workspace=workspace)
        case "talk", fields:
            _converse(memory, clock, **fields)


def _converse(
    memory: "Memory", clock: FixedClock, *, chat_id: str, lines: Any, ending: str, channel: str | None = None
) -> None:
    start = memory.conversations.start
    conv = start(channel, chat_id=chat_id, model_id="assistant-large", participants=[HELPER])
    _say(conv, clock, lines)
    if ending != "open":
        conv.end()
    if ending == "archive":
        conv.archive()


def _say(talk: "Conversation", clock: FixedClock, lines: Iterable[Sequence[str]]) -> None:
    for who, text, *more in lines:
        clock.advance(95_000)
        match who:
            case "user":
                talk.user(text, speaker="Ana")
            case "agent":
                talk.assistant(text)
            case "call":
                name, arguments, result = more
                call = f"call_{clock.now()}"
                function = {"name": name, "arguments": arguments}
                talk.assistant(text, tool_calls=[{"id": call, "type": "function", "function": function}])
                clock.advance(4_000)
                talk.tool(result, call)
            case "compact":
                talk.compact()


def _today(memory: "Memory", now: int) -> None:
    """Write the current state of the conversation that is still active."""
    talk = memory.conversations.get(memory.conversations.list(limit=1)[0].id)
    memory.remember(
        "The customer behind order 4711 waits for an answer today.",
        scope=Scope.CONVERSATION,
        conversation=talk.id,
        tags=["support"],
        importance=0.7,
    )
    talk.scratchpad["orders to look at"] = ["4711", "4718", "4720"]
    talk.scratchpad["what scout found"] = "The carrier's status page says: delays in the north until Thursday."
    talk.checkpoint()
    memory.reminders.add(now + 20 * HOUR, "Ask the carrier again about the delays in the north")
    memory.reminders.add(now + 3 * DAY, "Send the numbers of the first month to Ana")


def _generated(words: Mapping[str, Sequence[str]], count: int, now: int) -> Iterator[Add]:
    """Yield entries from before the story. They are long-term: upkeep would soon tidy away so many short-lived ones."""
    chance = random.Random(8)
    categories = [None, None, None, None, *Category]
    parts = [words[part] for part in ("who", "did", "what", "when")]
    for number in range(count):
        one, two = (" ".join(map(chance.choice, parts)) for _ in range(2))
        order = f" Order {10_000 + number}." if number % 5 == 0 else ""
        yield Add(
            f"{one[0].upper()}{one[1:]}, and {two}.{order}",
            tags=chance.sample(words["tags"], chance.randint(0, 2)),
            category=chance.choice(categories),
            importance=round(chance.uniform(0.2, 0.8), 2),
            lifetime=Lifetime.LONG_TERM,
            at=now - 42 * DAY - (count - number) * 40 * DAY // count,
        )
