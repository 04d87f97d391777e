"""Years of chats of one person as ChatGPT exports them, and what that person later asks. All of it is made up."""

import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CHATS = Path(__file__).with_suffix(".txt")
ROLES = {"U: ": "user", "A: ": "assistant"}

EVERYDAY = (
    *(
        "the kitchen table",
        "the car seats",
        "an octopus costume",
        "the key cabinet",
        "the book shelf",
        "the garden shed",
    ),
    *(
        "the guest room",
        "a wifi camera",
        "my sister's flat",
        "a birthday cake",
        "the tooth fairy's letter",
        "the tree house",
    ),
    *("the water pump", "the cabin of the boat", "a painted chair", "the heat of the oven", "the repaired radio"),
    *("a sore knee", "the dentist's bill", "the house code of conduct", "a present for the teacher", "the cooker hood"),
)
"""Subjects of further chats, with words of the questions."""

# As asked, and what the answer must contain.
QUESTIONS = (
    ("what was the name of the dentist I liked?", "Marta Quental"),
    ("which painkiller can't I take?", "ibuprofen"),
    ("what colour did we paint the kitchen cabinets", "Verde Sintra"),
    ("how much was the car repair?", "612 euros"),
    ("when is my sister's birthday", "12 September"),
    ("how long did I cook the octopus", "55 minutes"),
    ("what did we decide about the heat pump?", "attic insulation first"),
    ("that book about trees, who wrote it?", "Simard"),
    ("code for the key box at the cabin", "4471"),
    ("wifi password for guests", "figos secos 1978"),
)


def export(folder: Path) -> Path:
    """Write the export as a zip file, and return its path."""
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([chat(*one) for one in chats()]))
        archive.writestr("user.json", json.dumps({"id": "user-1", "email": "someone@example.org"}))
    return path


def chats() -> Iterator[tuple[str, float, list[tuple[str, str]]]]:
    """Yield title, time and messages of each chat."""
    for block in CHATS.read_text(encoding="utf-8").split("## ")[1:]:
        head, *lines = block.strip().splitlines()
        title, _, day = head.partition(" | ")
        at = datetime.fromisoformat(day).replace(hour=18, tzinfo=UTC).timestamp()
        yield title, at, [(ROLES[line[:3]], line[3:]) for line in lines]
    for number, subject in enumerate(EVERYDAY):
        at = datetime(2023, 1, 9, 8, tzinfo=UTC).timestamp() + number * 40 * 86_400
        yield f"About {subject}", at, list(everyday(subject))


def everyday(subject: str) -> Iterator[tuple[str, str]]:
    """Yield the messages of a chat from which nothing is asked later."""
    yield "user", f"What should I think of with {subject} this week? I have an hour on Saturday and about 30 euros."
    yield "assistant", f"Start with a list of what bothers you most about {subject}, then do the smallest thing first."
    yield "user", f"and what would {subject} cost if a firm did it?"
    yield "assistant", f"Ask two people for a price. For {subject} an hour of work is usually between 25 and 45 euros."
    yield "user", f"Fine, then {subject} is my own job, I will tell you how it went"
    yield "assistant", f"Good. A picture of {subject} before and after helps to remember."


def chat(title: str, at: float, messages: list[tuple[str, str]]) -> dict[str, Any]:
    """Return a chat as a tree of messages, with the empty system message that every chat has."""
    received = [("system", ""), *messages]
    nodes = [
        {
            "id": f"{title}-{number}",
            "parent": f"{title}-{number - 1}" if number else None,
            "children": [f"{title}-{number + 1}"] if number + 1 < len(received) else [],
            "message": {
                "id": f"{title}-{number}",
                "author": {"role": role},
                "create_time": at + 90 * number,
                "content": {"content_type": "text", "parts": [text]},
                "recipient": "all",
                "metadata": {"is_visually_hidden_from_conversation": True} if role == "system" else {},
            },
        }
        for number, (role, text) in enumerate(received)
    ]
    return {
        "conversation_id": title,
        "title": title,
        "create_time": at,
        "update_time": at + 90 * len(received),
        "current_node": nodes[-1]["id"],
        "mapping": {node["id"]: node for node in nodes},
    }
