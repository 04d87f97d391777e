"""The lanes of a conversation: the events in the window, and the summary document of those before it."""

import json
from dataclasses import dataclass, field, replace

from recollect.engine.agent_store import Store
from recollect.errors import Corrupt
from recollect.model.history import Event, EventType, Lane, Marker
from recollect.model.working import Delta, SummaryDocument
from recollect.storage import entries, history
from recollect.storage.database import Transaction

__all__ = [
    "LaneState",
    "apply_delta",
    "lane_events",
    "lane_state",
    "latest_archive",
    "read_marker",
    "set_document",
    "window",
]


@dataclass(frozen=True, slots=True)
class LaneState:
    """Where the window of a lane begins, and the summary of everything before it."""

    marker: int = 0
    """Sequence number of the marker event; 0 before the first compaction."""
    boundary: int = 0
    kept: tuple[int, ...] = ()
    document: SummaryDocument = field(default_factory=SummaryDocument)


def lane_state(tx: Transaction, conversation: str, lane: Lane) -> LaneState:
    """Return the state of a lane; if its row is missing or unreadable, rebuild it from the last marker."""
    row = tx.one("history.lane", conversation=conversation, lane=str(lane))
    if row is None:
        return _from_markers(tx, conversation, lane)
    marker, boundary, kept, document = row
    try:
        numbers = tuple(int(seq) for seq in json.loads(kept))
        return LaneState(marker, boundary, numbers, SummaryDocument.read(json.loads(document)))
    except (ValueError, TypeError, Corrupt):
        return _from_markers(tx, conversation, lane)


def window(tx: Transaction, conversation: str, lane: Lane) -> tuple[LaneState, list[Event]]:
    """Return the state of a lane, and the events that no archive covers."""
    state = lane_state(tx, conversation, lane)
    found = history.events(tx, "events_by_seq", seqs=state.kept) if state.kept else []
    return state, found + lane_events(tx, conversation, lane, state.boundary)


def lane_events(tx: Transaction, conversation: str, lane: Lane, after: int = 0) -> list[Event]:
    """Return the events of a lane after a sequence number, without markers."""
    return history.events(
        tx, "events_of_lane", conversation=conversation, lane=str(lane), after=after, marker=str(EventType.MARKER)
    )


def set_document(tx: Transaction, conversation: str, lane: Lane, state: LaneState, now: int) -> None:
    """Store the state of a lane."""
    tx.run(
        "history.lane_put",
        conversation_id=conversation,
        lane=str(lane),
        marker=state.marker,
        boundary=state.boundary,
        kept=json.dumps(state.kept),
        document=json.dumps(state.document.to_json(), ensure_ascii=False),
        updated_at=now,
    )


def apply_delta(store: Store, conversation: str, lane: Lane, delta: Delta, now: int) -> SummaryDocument:
    """Apply a delta to the summary document of a lane; return the new document."""
    with store.write() as work:  # like compaction, so that neither overwrites the other's change
        state = lane_state(work.tx, conversation, lane)
        changed = replace(state, document=state.document.apply(delta))
        set_document(work.tx, conversation, lane, changed, now)
    return changed.document


def latest_archive(tx: Transaction, state: LaneState) -> tuple[str | None, str | None]:
    """Return name and text of the archive before a window; no name before the first, no text if it was removed."""
    if not state.marker:
        return None, None
    (marker,) = history.events(tx, "events_by_seq", seqs=[state.marker])
    entry = entries.get(tx, marker.payload["archive_id"])
    return str(marker.payload["archive_name"]), entry.content if entry else None


def read_marker(event: Event) -> Marker:
    """Parse the payload of a marker event."""
    payload = event.payload
    return Marker(
        archive_name=payload["archive_name"],
        archived_at=payload["archived_at"],
        boundary=payload["boundary"],
        kept=tuple(payload["kept"]),
        folded=payload["folded"],
    )


def _from_markers(tx: Transaction, conversation: str, lane: Lane) -> LaneState:
    found = history.events(tx, "markers", conversation=conversation, lane=str(lane), limit=1)
    if not found:
        return LaneState()
    marker = read_marker(found[0])
    return LaneState(found[0].seq, marker.boundary, marker.kept, SummaryDocument.read(found[0].payload["document"]))
