"""Folders of markdown: all properties of Obsidian's notes, and the memories of OpenClaw."""

from pathlib import Path

from recollect.home import Home
from recollect.memory import Memory
from recollect.model.entry import Origin
from recollect.model.transfer import Format
from recollect.transfer import formats


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_all_properties_of_a_note_are_kept(home: Home, mem: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    head = '---\ntags: [boat]\nstatus: draft\nrelated:\n  - "[[Winch]]"\nowner:\n  name: Ana\n---\n'
    path = write(folder / "Mast.md", f"{head}The mast is of spruce.\n")
    home.import_(folder, agent="ana")
    kept = 'status: draft\nrelated:\n  - "[[Winch]]"\nowner:\n  name: Ana'
    assert (mem.get("Mast").context, mem.get("Mast").tags) == (kept, ("boat",))
    assert not home.import_(folder, agent="ana").changed
    write(path, f"{head.replace('draft', 'done')}The mast is of spruce.\n")
    assert home.import_(folder, agent="ana").changed
    assert mem.get("Mast").context == kept.replace("draft", "done")
    mem.upsert("Mast", "The mast is of pine.")
    assert not home.import_(folder, agent="ana").changed


def test_a_workspace_of_openclaw_becomes_notes(home: Home, mem: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    write(folder / "MEMORY.md", "# Memory\n\nAna sails on Sundays.\n")
    write(folder / "memory" / "2026-03-01.md", "Repaired the winch.\n")
    write(folder / "SOUL.md", "Be kind.\n")
    (folder / "memory" / "2026-03-02.md").symlink_to(write(tmp_path / "outside.md", "not here"))
    assert formats.recognise(folder) is Format.OPENCLAW
    done = home.import_(folder, agent="ana")
    assert dict(done.parts[0].added) == {"entries": 2}
    day = mem.get("OpenClaw memory/2026-03-01")
    assert (day.content, day.created_at, day.origin) == ("Repaired the winch.", 1_772_323_200_000, Origin.AGENT)
    assert mem.get("OpenClaw MEMORY").content == "# Memory\n\nAna sails on Sundays."
    assert "files that are no memories were left out: SOUL.md" in done.remarks
    assert any(remark.startswith("memory/2026-03-02.md was left out: it is a link") for remark in done.remarks)
    assert not home.import_(folder, agent="ana").changed
    assert home.agent("bob").recall("winch") == []
