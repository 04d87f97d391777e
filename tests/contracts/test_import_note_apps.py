"""Exports of programs for notes: Notion, Logseq and basic-memory."""

import io
import zipfile
from pathlib import Path

import pytest

from recollect import clock
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Format
from recollect.transfer import formats

ID = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"
BLOCK = "65f1c0de-1111-4222-8333-abcdefabcdef"
NOTION = {
    f"Home {ID}.md": f"# Home\n\nSee [Boat trip](Home%20{ID}/Boat%20trip%20{OTHER}.md), [the trip](Home%20{ID}/"
    f"Boat%20trip%20{OTHER}.md) and ![map.png](Home%20{ID}/map.png).\nNote: this is no property\n",
    f"Home {ID}/Boat trip {OTHER}.md": "# Boat trip\n\nWe sailed to Paquetá.\n",
    f"Home {ID}/map.png": "PNG",
    f"Books {ID}.csv": "Name,Tags\nDune,\n",
    f"Books {ID}_all.csv": '\ufeffName,Tags,Created,Author\nDune,"novel, desert","March 5, 2024 10:30 AM",Herbert\n'
    'Emma,novel,"March 6, 2024",Austen\n',
    f"Books {ID}/Dune {OTHER}.md": "# Dune\n\nTags: novel, desert\nCreated: March 5, 2024 10:30 AM\nAuthor: Herbert\n\n"
    "The spice must flow.\n",
    f"Archive {ID}/Boat trip {ID}.md": "# Boat trip\n\nAn older trip.\n",
}
LOGSEQ = {
    "logseq/config.edn": "{}",
    "logseq/bak/pages/old.md": "- not this",
    "journals/2024_03_05.md": f"- Met [[Ada]] about the #[[winter plan]]\n\t- TODO call her: (({BLOCK}))\n"
    "\t  :LOGBOOK:\n\t  CLOCK: [2024-03-05]\n\t  :END:\n- see ((00000000-0000-4000-8000-000000000000))\n",
    "journals/2024_03_06.md": "-\n",
    "pages/Ada.md": f"title:: Ada Lovelace\nalias:: Ada, the countess\ntags:: person, [[maths]]\nborn:: 1815\n\n"
    f"- Likes engines\n  id:: {BLOCK}\n  collapsed:: true\n\t- and tea\n",
    "pages/work___roof.md": "- Costs 900 euros #house\n",
    "assets/roof.png": "PNG",
}
BASIC_MEMORY = {
    "coffee/brewing.md": "---\ntitle: Coffee Brewing Methods\ntype: note\ntags: [coffee]\npermalink: coffee/brewing\n"
    "status: active\n---\n# Coffee Brewing Methods\n\n## Observations\n"
    "- [method] Pour over is clearer #brewing (tested)\n\n## Relations\n- requires [[Grinding]]\n",
    "grinding.md": "---\ntitle: Grinding\ntype: note\npermalink: grinding\n---\n- [fact] Burrs last years\n",
}


def folder_of(path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path


def zip_of(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_pages_databases_and_links_of_notion_become_notes(
    home: Home, mem: Memory, tmp_path: Path, packed: bool
) -> None:
    path = tmp_path / "export"
    if packed:  # as it is downloaded: a zip with zips inside
        path.write_bytes(zip_of({f"Export-{BLOCK}-Part-1.zip": zip_of({**NOTION})}))
    else:
        folder_of(path, NOTION)
        assert formats.recognise(path) is Format.NOTION
    done = home.import_(path, agent="ana")
    assert (done.format, dict(done.parts[0].added)) == (Format.NOTION, {"entries": 5})
    assert any(".png" in remark for remark in done.remarks)
    older = mem.get("Boat trip")
    newer = mem.get("Home/Boat trip")
    assert (older.content, newer.content) == ("An older trip.", "We sailed to Paquetá.")
    assert mem.get("Home").content == (
        f"See [[Home/Boat trip|Boat trip]], [[Home/Boat trip|the trip]] and ![map.png](Home%20{ID}/map.png).\n"
        "Note: this is no property"
    )
    dune, emma = mem.get("Dune"), mem.get("Emma")
    assert (dune.content, dune.tags, dune.source) == ("The spice must flow.", ("novel", "desert"), "notion")
    assert dune.context == "Tags: novel, desert\nCreated: March 5, 2024 10:30 AM\nAuthor: Herbert"
    assert dune.created_at == clock.milliseconds("2024-03-05T10:30:00Z")
    assert (emma.content, emma.tags) == ("Name: Emma\nTags: novel\nCreated: March 6, 2024\nAuthor: Austen", ("novel",))
    assert not home.import_(path, agent="ana").changed
    assert home.agent("bob").list() == []


def test_a_damaged_table_of_notion_is_named_and_its_pages_are_imported(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "export", {**NOTION, f"Bad {ID}.csv": 'Name\n"never closed'})
    done = home.import_(path, agent="ana")
    assert any(remark.startswith(f"Bad {ID}.csv was left out: ") for remark in done.remarks)
    assert mem.get("Dune").content == "The spice must flow."


@pytest.mark.parametrize("packed", [False, True])
def test_pages_and_journals_of_logseq_become_notes(home: Home, mem: Memory, tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "graph"
    if packed:
        path.write_bytes(zip_of({f"graph/{name}": text for name, text in LOGSEQ.items()}))
    else:
        folder_of(path, LOGSEQ)
        (path / "pages/link.md").symlink_to(tmp_path / "outside.md")
        assert formats.recognise(path) is Format.LOGSEQ
    done = home.import_(path, agent="ana")
    assert (done.format, dict(done.parts[0].added)) == (Format.LOGSEQ, {"entries": 3})
    day = mem.get("2024-03-05")
    assert day.content == (
        "- Met [[Ada]] about the #[[winter plan]]\n\t- TODO call her: Likes engines\n"
        "- see ((00000000-0000-4000-8000-000000000000))"
    )
    assert (day.tags, day.created_at) == (("winter plan",), clock.milliseconds("2024-03-05"))
    assert mem.get("Mar 5th, 2024").id == day.id
    ada = mem.get("Ada")
    assert (ada.name, ada.aliases, ada.tags) == ("Ada Lovelace", ("Ada", "the countess"), ("person", "maths"))
    assert (ada.content, ada.context) == ("- Likes engines\n\t- and tea", "born:: 1815")
    assert mem.get("work/roof").tags == ("house",)
    assert [entry.name for entry in mem.links("2024-03-05").out] == ["Ada Lovelace"]
    assert "1 empty page was left out" in done.remarks
    assert any(remark.startswith("1 references lead to blocks") for remark in done.remarks)
    assert any(".png" in remark for remark in done.remarks)
    assert packed or any(remark.startswith("pages/link.md was left out: it is a link") for remark in done.remarks)
    assert not home.import_(path, agent="ana").changed


def test_notes_of_basic_memory_are_named_by_their_titles(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "basic", BASIC_MEMORY)
    (path / ".obsidian").mkdir()
    assert formats.recognise(path) is Format.BASIC_MEMORY
    done = home.import_(path, agent="ana")
    assert dict(done.parts[0].added) == {"entries": 2}
    coffee = mem.get("Coffee Brewing Methods")
    assert (coffee.aliases, coffee.tags) == (("brewing", "coffee/brewing"), ("coffee", "brewing"))
    assert "- [method] Pour over is clearer #brewing (tested)" in coffee.content
    assert "status: active" in (coffee.context or "")
    assert [entry.name for entry in mem.links("coffee/brewing").out] == ["Grinding"]
    assert not home.import_(path, agent="ana").changed
    assert formats.recognise(folder_of(tmp_path / "plain", {"a.md": "text", "b.md": "text"})) is Format.OBSIDIAN
