"""The prompt text for an agent that writes vault files itself: where they are, and how an entry is written."""

import os
from pathlib import Path

__all__ = ["instructions"]

_CATEGORIES_FORMAT = (
    "Shared: VAULT/_project.md | Personal: VAULT/AGENT/{decisions,lessons,tasks,handoffs}.md",
    "Add an entry at the end of a file: a line `## YYYY-MM-DDTHH:MM · #tag #tag`, a blank line, then the text. "
    "Leave the `<!-- id:… -->` lines as they are.",
    "Only a heading with such a date starts a new note; every other heading is part of the note that it is in.",
)
_NOTES_FORMAT = (
    "Shared: VAULT/_project.md | Personal: VAULT/AGENT/{decisions,lessons,tasks,notes}/NAME.md",
    "Write one file per note; its name is the note's name, and `[[NAME]]` links to it. Optional front matter: "
    "`tags`, `aliases`, `importance`, `valid_from`, `valid_until`. Leave the line `recollect_id: …` as it is.",
    "A heading never starts a new note: everything below the front matter is one note.",
)


def instructions(
    folder: Path, agent: str, host_project: str | Path | None, *, shown_as: str | None, notes: bool
) -> str:
    """Return the text for an agent; `notes` selects the layout with one file per note.

    `shown_as` replaces the folder's path. With `host_project`, the text says which project the agent works on, and the
    folder is shown relative to it.
    """
    start = Path.cwd() if host_project is None else Path(host_project)
    vault = _shown(folder, start) if shown_as is None else shown_as
    lines = [
        "## MEMORY: When asked to save/learn/remember, WRITE to files (don't just say you will).",
        *(_NOTES_FORMAT if notes else _CATEGORIES_FORMAT),
    ]
    lines = [line.replace("VAULT", vault).replace("AGENT", agent) for line in lines]
    if host_project is not None:
        project = start.absolute().as_posix() if shown_as is None else host_project
        lines += [
            "",
            f"## SCOPE: You work on the project in {project}.",
            f"Analyse that project. The files in {vault} are your memory, not part of what you work on.",
        ]
    return "\n".join(lines) + "\n"


def _shown(folder: Path, start: Path) -> str:
    """Return the folder relative to `start`, or its absolute path if it is not below `start`."""
    whole = Path(os.path.abspath(folder))
    try:
        return whole.relative_to(Path(os.path.abspath(start))).as_posix()
    except ValueError:
        return whole.as_posix()
