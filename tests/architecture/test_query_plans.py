"""No query about one thing reads all of an agent's rows: SQLite says how it would find them."""

import re
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.storage.named_queries import queries

LARGE = {
    "embeddings",
    "entries",
    "events",
    "job_changes",
    "names",
    "operations",
    "postings",
    "promotions",
    "recall_events",
    "reminders",
    "turn_postings",
}
"""Tables that grow without end."""
WHOLE = {
    # About all of an agent's rows: they count, compare or clear them.
    "admin.agents",
    "dreaming.light",
    "dreaming.lately",
    "dreaming.ledger",
    "dreaming.pending",
    "dreaming.taken_back",
    "entries.citing",
    "entries.containing",
    "entries.count",
    "history.containing",
    "history.erased_count",
    "history.erased_hashes",
    "history.made_from",
    "index.clear_postings",
    "names.crowded",
    "names.dangling",
    "note_graph.count",
    "note_graph.names",
    "operations.containing",
    "operations.count",
    "operations.dump",
    "signals.questions",
    "signals.unask",
    "stats.entries",
    "stats.events_by_day",
    "stats.recalls_by_day",
    "stats.trash",
    "stats.vectors",
    "timeline.conversation_times",
    "timeline.holding",
    "turns.clear_postings",
    "vault.names",
    "vault.notes",
    "vectors.to_move",
    # They read in the order of a key, and stop early.
    "context.notes",
    "context.phrase",
    "entries.some",
    "history.newest",
    "listing.count",
    "note_graph.notes",
    "reminders.every",
    "signals.record",
    "stats.last_event_at",
    "stats.last_operation_at",
    "tidying.old_signals",
    "timeline.first_note",
    "timeline.last_note",
    "transfer.present",
    # An index by importance would cost every write a page, for a list that is rarely asked for: it looks at all rows.
    "listing.importance_down",
    "listing.importance_up",
    # They look at the trash, newest first.
    "operations.removed_name",
    "operations.removed_superseded",
    "vault.removed",
    # Erasing is rare, and looks at the whole log anyway.
    "operations.superseding",
    "upkeep.changes_forget",
}
SERVERS_OWN = {"vectors.index", "vectors.nearest", "vectors.search_list"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    path: Path = tmp_path_factory.mktemp("plans") / "memory.db"
    with recollect.open(path) as home:
        home.agent("ana").conversations.start().user("hello")
    return apsw.Connection(str(path))


def test_a_query_finds_its_rows_by_more_than_the_agent(file: apsw.Connection) -> None:
    for name in sorted(queries().keys() - WHOLE - SERVERS_OWN):
        sql = re.sub(r":(\w+)[*!]", r":\1", queries()[name])
        values = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
        for *_, step in file.execute(f"EXPLAIN QUERY PLAN {sql}", values):
            found = re.match(r"(SCAN|SEARCH) (\w+)(?:.*\((.*)\))?", step)
            if found and found[2] in LARGE:
                assert found[1] == "SEARCH", f"{name}: {step}"
                assert found[3] != "agent=?", f"{name}: {step}"
