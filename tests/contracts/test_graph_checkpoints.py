"""Checkpoints of graphs, and vectors that a caller makes for entries: kept, exported, checked, and never another's."""

from dataclasses import replace
from pathlib import Path

import pytest
from crash.evidence import raw

import recollect
from recollect import Add, ConfigError, Conflict, Corrupt, Home, Invalid, Memory, Write
from recollect.model.graph import GraphCheckpoint, GraphWrite
from recollect.transfer import restoring


def checkpoint(id: str, thread: str = "t", **more: str) -> GraphCheckpoint:
    return GraphCheckpoint(thread=thread, namespace="", id=id, type="bytes", state=b"\0state\xff" + id.encode(), **more)


def write(number: int = 0, value: bytes = b"\xffvalue") -> GraphWrite:
    return GraphWrite(task="task", number=number, path="", channel="messages", type="bytes", value=value)


def fill(mem: Memory) -> None:
    mem.graphs.put(checkpoint("1", run="r"))
    mem.graphs.put(checkpoint("2", parent="1", metadata='{"step": 2}'))
    mem.graphs.put_writes("t", "", "2", [write(1), write(0)], replace=False)


def everything(mem: Memory) -> list[object]:
    return [mem.graphs.get(thread, namespace, id) for thread, namespace, id, _ in mem.graphs.list()]


def test_the_latest_checkpoint_of_a_thread_comes_with_its_writes_in_order(mem: Memory) -> None:
    assert mem.graphs.get("t", "") is None
    fill(mem)
    assert mem.graphs.get("t", "") == (checkpoint("2", parent="1", metadata='{"step": 2}'), [write(0), write(1)])
    assert mem.graphs.get("t", "", "1") == (checkpoint("1", run="r"), [])
    assert [row[2] for row in mem.graphs.list("t")] == ["2", "1"]


def test_writes_are_replaced_only_on_request(mem: Memory) -> None:
    fill(mem)
    mem.graphs.put_writes("t", "", "2", [write(0, b"new"), write(2)], replace=False)
    mem.graphs.put_writes("t", "", "2", [write(1, b"new")], replace=True)
    found = mem.graphs.get("t", "")
    assert found is not None
    assert [one.value for one in found[1]] == [b"\xffvalue", b"new", b"\xffvalue"]


def test_threads_are_copied_pruned_and_deleted_with_their_writes(mem: Memory) -> None:
    fill(mem)
    mem.graphs.copy("t", "u")
    mem.graphs.keep("t", {("", "2")})
    assert [row[:3] for row in mem.graphs.list()] == [("t", "", "2"), ("u", "", "2"), ("u", "", "1")]
    mem.graphs.delete_runs(["r"])
    mem.graphs.delete("t")
    assert [row[:3] for row in mem.graphs.list()] == [("u", "", "2")]
    mem.graphs.put(checkpoint("2"))
    assert mem.graphs.get("t", "") == (checkpoint("2"), [])


@pytest.mark.directory
def test_neither_another_agent_nor_another_workspace_reads_or_changes_them(home: Home, location: str) -> None:
    mine = home.agent("ana")
    fill(mine)
    before = everything(mine)
    for other in [home.agent("ben")] + ([] if location.endswith(".db") else [home.agent("ana", "second")]):
        assert (other.graphs.list(), other.graphs.get("t", "")) == ([], None)
        other.graphs.delete("t")
        other.graphs.delete_runs(["r"])
        other.graphs.copy("t", "u")
        other.graphs.keep("t", ())
        entry = mine.remember("a note")
        mine.item_vectors.put("model", [(entry, {"$": b"0000"})])
        assert other.item_vectors.get("model", [entry]) == {}
    assert everything(mine) == before


@pytest.mark.parametrize("bad", ["x" * 10_000, "a\0b", "\ud800"])
def test_an_id_that_cannot_be_stored_is_refused(mem: Memory, bad: str) -> None:
    with pytest.raises(Invalid):
        mem.graphs.put(checkpoint("1", bad))
    with pytest.raises(Invalid):
        mem.graphs.put_writes(bad, "", "1", [write()], replace=True)
    with pytest.raises(Invalid):
        mem.graphs.copy("t", bad)
    assert mem.graphs.list() == []


def test_an_export_and_a_move_carry_them(home: Home, tmp_path: Path) -> None:
    fill(home.agent("ana"))
    home.export(tmp_path / "export.jsonl")
    with recollect.open(tmp_path / "imported.db") as imported, recollect.open(tmp_path / "moved") as moved:
        imported.import_(tmp_path / "export.jsonl")
        again = imported.import_(tmp_path / "export.jsonl")
        restoring.move(home._place, moved._place)
        for copy in (imported, moved):
            assert everything(copy.agent("ana")) == everything(home.agent("ana"))
            assert copy.check().ok
        assert [part.added for part in again.parts] == [{}]


def test_an_import_adds_checkpoints_to_an_agent_that_has_others(home: Home, tmp_path: Path) -> None:
    mine = home.agent("ana")
    fill(mine)
    home.export(tmp_path / "export.jsonl")
    with recollect.open(tmp_path / "other.db") as other:
        other.agent("ana").graphs.put(checkpoint("1", metadata='{"own": 1}'))
        other.import_(tmp_path / "export.jsonl")
        found = other.agent("ana").graphs
        assert found.get("t", "", "1") == (checkpoint("1", metadata='{"own": 1}'), [])
        assert found.get("t", "") == mine.graphs.get("t", "")


def test_a_check_finds_what_was_altered_and_a_read_refuses_it(home: Home, location: str) -> None:
    mine = home.agent("ana")
    fill(mine)
    assert home.check().ok
    with raw(location) as run:
        run("UPDATE graph_checkpoints SET type = 'json' WHERE id = '1'")
        run("UPDATE graph_writes SET type = 'json' WHERE number = 0")
    findings = [finding.message for finding in home.check().findings if finding.part == "graphs"]
    assert len(findings) == 2
    for id in ("1", "2"):
        with pytest.raises(Corrupt, match="not what was written"):
            mine.graphs.get("t", "", id)


def test_a_checkpoint_in_a_newer_format_is_refused_in_words(home: Home, location: str) -> None:
    fill(home.agent("ana"))
    with raw(location) as run:
        run("UPDATE graph_checkpoints SET format = 2")
    with pytest.raises(ConfigError, match="newer recollect"):
        home.agent("ana").graphs.get("t", "")


def test_vectors_of_a_caller_are_forgotten_with_the_content_of_the_entry(mem: Memory) -> None:
    entry, other = mem.remember("first"), mem.remember("other")
    mem.item_vectors.put("model", [(entry, {"a": b"0000", "b": b"1111"}), (other, {"a": b"2222"})])
    both = {entry.id: {"a": b"0000", "b": b"1111"}, other.id: {"a": b"2222"}}
    assert mem.item_vectors.get("model", [entry, other]) == both
    assert mem.item_vectors.get("another model", [entry]) == {}
    written = mem.apply(Write(entry.id, "second"))
    assert mem.item_vectors.get("model", [entry, written]) == {}
    mem.forget(other.id)
    mem.restore(other.id)
    assert mem.item_vectors.get("model", [other]) == {}


def test_entries_are_stored_with_their_vectors_or_not_at_all(mem: Memory) -> None:
    one, two = mem.item_vectors.add(
        "model", [(Add("first", "a/1"), {"$": b"0000"}), (Add("second", "a/2"), {"$": b"1111"})]
    )
    assert mem.item_vectors.get("model", [one, two]) == {one.id: {"$": b"0000"}, two.id: {"$": b"1111"}}
    assert [mem.item_vectors.size(*of) for of in (("model", "a/"), ("other", "a/"), ("model", "b/"))] == [4, 0, 0]
    with pytest.raises(Conflict):
        mem.item_vectors.add("model", [(Add("third", "a/3"), {}), (Add("again", "a/1"), {})])
    with pytest.raises(Exception, match="object"):
        mem.item_vectors.add("model", [(Add("third", "a/3"), {"$": object()})])  # type: ignore[dict-item]
    with pytest.raises(Exception, match="object"):
        mem.item_vectors.write("model", Write("a/1", "changed"), {"$": object()})  # type: ignore[dict-item]
    assert {entry.name: entry.content for entry in mem.list()} == {"a/1": "first", "a/2": "second"}
    changed = mem.item_vectors.write("model", Write("a/1", "changed"), {"$": b"2222"})
    assert mem.item_vectors.get("model", [changed]) == {changed.id: {"$": b"2222"}}


def test_an_export_and_a_move_carry_vectors_of_a_caller_which_only_that_one_could_make_again(
    home: Home, tmp_path: Path
) -> None:
    (entry,) = home.agent("ana").item_vectors.add("model", [(Add("first", "a/1"), {"$": b"\xff000"})])
    home.export(tmp_path / "export.jsonl")
    places = [tmp_path / name for name in ("imported.db", "moved.db", "merged.db")]
    with recollect.open(places[0]) as imported, recollect.open(places[1]) as moved, recollect.open(places[2]) as merged:
        imported.import_(tmp_path / "export.jsonl")
        restoring.move(home._place, moved._place)
        (known,) = merged.agent("ana").item_vectors.add("other", [(Add("another", "a/2"), {"$": b"1111"})])
        merged.import_(tmp_path / "export.jsonl")
        merged.import_(tmp_path / "export.jsonl")
        for copy in (imported, moved, merged):
            assert copy.agent("ana").item_vectors.get("model", [entry]) == {entry.id: {"$": b"\xff000"}}
        home.delete_workspace("default")
        home.import_(tmp_path / "export.jsonl")
        assert home.agent("ana").item_vectors.get("model", [entry]) == {entry.id: {"$": b"\xff000"}}
        assert merged.agent("ana").item_vectors.get("other", [known]) == {known.id: {"$": b"1111"}}


def test_an_erasure_names_the_checkpoints_that_contain_the_text(mem: Memory) -> None:
    entry = mem.remember("the password is hunter2qz")
    mem.item_vectors.put("model", [(entry, {"$": b"0000"})])
    mem.graphs.put(replace(checkpoint("1"), state=b"\x82\xa9hunter2qz\xff"))
    receipt = mem.forget(entry.id, erase=True)
    assert any("1 row of the table graph_checkpoints" in line for line in receipt.remaining)
    assert mem.item_vectors.get("model", [entry]) == {}
    mem.graphs.delete("t")
    again = mem.remember("the password is hunter2qz")
    assert not any("with a word" in line for line in mem.forget(again.id, erase=True).remaining)
