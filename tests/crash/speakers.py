"""What child processes do in the crash tests of conversations: talk, compact and end, and tell what has returned.

A message is ("doing", what, conversation), ("done", what, conversation, hashes), or ("failed", class, message).
"""

import random
from multiprocessing.connection import Connection

from crash import program  # noqa: F401 - it loads everything that takes long
from dialogue import Writing, call

import recollect
from recollect import Settings
from recollect.config import WindowSettings
from recollect.conversation import Conversation
from recollect.model.history import Event, EventType, Lane, Status
from recollect.search import index

__all__ = ["SETTINGS", "talk_until_killed", "tell_the_story"]

SETTINGS = Settings(window=WindowSettings(events=8))


def talk_until_killed(pipe: Connection, location: str, seed: float, tail: int) -> None:
    """Continue the conversation of earlier processes without end. Small segments make the index flush often."""
    index.TAIL = tail
    rng = random.Random(seed)
    mem = recollect.open(location, settings=SETTINGS).agent("ana")
    conv = next((mem.conversations.get(one.id) for one in mem.conversations.list()), None)
    for number in range(10**9):
        if conv is None or conv.status is not Status.ACTIVE:
            conv = mem.conversations.start()
        kind = rng.choice(["user", "assistant", "tools", "tools", "many", "compact", "compact", "end"])
        pipe.send(("doing", kind, conv.id))
        try:
            received = _step(conv, kind, rng.choice(list(Lane)), f"{seed} {number}")
        except recollect.Conflict:  # an earlier process had begun to end it
            conv.end()
            received, kind = [], "end"
        pipe.send(("done", kind, conv.id, [event.hash for event in received]))


def _step(conv: Conversation, kind: str, lane: Lane, words: str) -> list[Event]:
    match kind:
        case "user":
            return [conv.user(f"We ask for granite {words}.", lane=lane)]
        case "assistant":
            return [conv.assistant(f"We decided to take granite {words}.", lane=lane)]
        case "tools":
            calls = [call(f"a{words}"), call(f"b{words}")]
            model = Event(type=EventType.MODEL, content="", lane=lane, tool_calls=calls)
            answers = [
                Event(type=EventType.TOOL, content=words, lane=lane, tool_call_id=str(one["id"])) for one in calls
            ]
            stored = conv.append([model, *answers])
            assert isinstance(stored, list)
            return stored
        case "many":
            return conv.extend([{"role": "user", "content": f"{words} {place}"} for place in range(5)], lane=lane)
        case "compact":
            conv.compact(lane)
        case _:
            conv.end()
    return []


THINGS = ["crane", "buoy", "ferry", "anchor", "lighthouse", "net", "tug", "rope", "compass", "sail"]


def tell_the_story(pipe: Connection, location: str, boat: str, model: bool) -> None:
    """Append five hundred turns on two lanes, with tools; then more until the process is killed."""
    home = recollect.open(location, model=Writing() if model else None)
    conv = home.agent("ana").conversations.start(chat_id="harbour")
    conv.job("Keep count of what is in the harbour.")
    for turn in range(10**9):
        thing = THINGS[turn % len(THINGS)]
        lane = Lane.CORE if turn % 4 == 3 else Lane.EDGE
        question = boat if turn == 137 else f"Is the {thing} number {turn} ready?"
        conv.user(question, speaker="Marta" if lane is Lane.EDGE else None, lane=lane)
        if turn % 5 == 0:
            conv.assistant("", tool_calls=[call(f"c{turn}", "look", thing=thing)], lane=lane)
            conv.tool(f"{thing} {turn}: in order", f"c{turn}", lane=lane)
        answer = conv.assistant(f"The {thing} number {turn} is ready.", lane=lane)
        pipe.send(("done", turn, conv.id, answer.hash))
