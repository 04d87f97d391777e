"""A made-up folder of notes with the habits of people who use Obsidian, the same for the same number of notes."""

import random
from datetime import date, timedelta
from pathlib import Path

__all__ = ["write_obsidian_vault"]

WORDS = [
    "garden",
    "roof",
    "invoice",
    "meeting",
    "recipe",
    "sourdough",
    "ladder",
    "river",
    "budget",
    "tomato",
    "fox",
    "window",
    "chapter",
    "guitar",
]
NAMES = ["Ada Lovelace", "João", "Łukasz", "東京の旅", "🌱 seedlings", "C# tips", "50% rule", "it's fine", "re: taxes"]
TAGS = ["home/roof", "home/garden/beds", "work", "été", "to-read", "2024/spring"]


def write_obsidian_vault(folder: Path, notes: int) -> dict[str, bytes]:
    """Write the vault; return the bytes of every markdown file by its path in the folder.

    Notes of people, projects, days and templates, with embeds, callouts, dataview fields, block references, tasks,
    tables, code and footnotes; with front matter in many forms or none, other line ends, a byte order mark; beside
    attachments, a canvas, and the folders `.obsidian` and `.trash`.
    """
    choice = random.Random(notes)
    written: dict[str, bytes] = {}
    for number in range(notes):
        path, text = _note(choice, number)
        written[path] = text
    for path, content in written.items():
        _put(folder / path, content)
    for path in (".obsidian/app.json", ".trash/old.md", "attachments/plan.png", "boards/home.canvas"):
        _put(folder / path, b"{}")
    return written


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _note(choice: random.Random, number: int) -> tuple[str, bytes]:
    kind = choice.choices(("daily", "person", "project", "template", "inbox"), (30, 10, 35, 3, 22))[0]
    day = date(2016, 1, 1) + timedelta(days=number)
    path = {
        "daily": f"daily/{day:%Y/%m}/{day}.md",
        "person": f"people/{choice.choice(NAMES).replace('#', '♯')} {number}.md",
        "project": f"projects/{choice.choice(WORDS)}/{choice.choice(WORDS)} {number}.md",
        "template": f"templates/template {number}.md",
        "inbox": f"{choice.choice(WORDS).title()} {choice.choice(WORDS)} {number}.md",
    }[kind]
    body = "".join(_parts(choice, number, day))
    text = _front(choice, kind, number, day) + body
    if choice.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if choice.random() < 0.05:
        text = "\ufeff" + text
    if choice.random() < 0.3:
        text = text.rstrip("\r\n")
    return path, text.encode()


def _front(choice: random.Random, kind: str, number: int, day: date) -> str:
    if kind == "template":
        return "---\ncreated: <% tp.file.creation_date() %>\ntitle: {{title}}\ntags: []\n---\n"
    form = choice.randrange(7)
    first, second = choice.sample(TAGS, 2)
    return [
        "",
        "",
        f"---\ntags: [{first}, {second}]\ncreated: {day}\n---\n\n",
        f"---\ntags:\n  - {first}\n  - \"{second}\"\naliases:\n- 'alias {number}'\ncssclasses: wide\n---\n",
        f"---\n# my view\nrating:   {number % 5}   # of five\ncategory: Recipes\nstatus: >\n  half\n  done\n---\n",
        f"---\ndate: {day}T08:15\nlinks: [[other]]\nnested:\n  deep: {{a: 1, b: [x, y]}}\n\ntags: {first}\n---\n\n",
        f"---\nid: {day:%Y%m%d}{number}\ntitle: 'A title, with: signs {number}'\nimportance: high\n...: odd\n---\n",
    ][form]


def _parts(choice: random.Random, number: int, day: date) -> list[str]:
    word = choice.choice(WORDS)
    parts = [
        f"# {word.title()} {number}\n\n",
        f"![[plan.png|300]]\n![[{choice.choice(WORDS)} {number - 1}#Heading]]\n",
        f"> [!warning]- Callout about the {word}\n> with **two** lines ^block-{number}\n\n",
        f"due:: {day}\n[priority:: high] (hidden:: yes)\n",
        f"See [[{word} {number - 2}|the other]], [[{word}#^block-{number - 3}]] and [text](projects/{word}.md).\n",
        f"- [ ] buy {word} 📅 {day} #task\n- [x] call\n\t- nested\n",
        f"| a | b |\n|---|---|\n| {word} | [[x\\|y]] |\n\n",
        f"```dataview\nTABLE rating FROM #{word}\n```\n\n~~~\n---\n<!-- id:5 -->\n~~~\n",
        "## 2024-01-02T10:00 · #tag\n\nA heading like one of another layout.\n\n---\n\n",
        f"Text with a footnote[^1], $x^2$, ==marks==, %%comment%% and `[[code]]`.  \n\n[^1]: #{choice.choice(TAGS)}\n",
        "\n\n   trailing   \t\n\n\n",
    ]
    return [*choice.sample(parts, choice.randint(2, 6)), f"The {word} is number {number}.\n"]
