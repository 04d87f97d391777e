"""The job `chunk`: stores chunks with vectors of imported conversations, and of long ones that have not ended."""

from recollect.engine import embedding
from recollect.engine.agent_store import Store
from recollect.engine.chunks import RECENT, chunk_draft, covered, next_chunks
from recollect.storage import history
from recollect.upkeep.job_run import JobRun

__all__ = ["chunk"]

MOST = 10_000
"""Number of chunks after which a run ends; the next one goes on."""
BATCH = 100
_LAST_ID = "g"
"""An id that comes after all others."""


def chunk(job_run: JobRun, store: Store) -> None:
    """Chunk what was imported or said since the last run, newest conversations first. Does nothing without an
    embedder: words find turns without chunks."""
    job_run.count("chunks", 0)
    if store.vectors is None:
        return
    before = _LAST_ID
    while job_run.figures["chunks"] < MOST and (batch := _unchunked(job_run, store, before)):
        for conversation in batch:
            while job_run.figures["chunks"] < MOST and _store_next(job_run, store, conversation):
                pass
        before = batch[-1]
    if job_run.figures["chunks"] and not job_run.dry_run:
        store.embed_later()


def _unchunked(job_run: JobRun, store: Store, before: str) -> list[str]:
    """Return the next conversations with something to chunk, newest first."""
    with job_run.read(store) as tx:
        return [row[0] for row in tx.all("history.unchunked", before=before, recent=RECENT, limit=BATCH)]


def _store_next(job_run: JobRun, store: Store, conversation: str) -> bool:
    """Store the next chunks of a conversation; return whether there may be more."""
    with job_run.read(store) as tx:
        info = history.conversation(tx, conversation)
        found = None if info is None else next_chunks(tx, info)
    if found is None or found.upto == found.after:
        return False
    drafts = [chunk_draft(found.info, *part) for part in found.chunks]
    # Outside of the transaction, and not in a dry run: calling a model may take long and cost money.
    vectors = (
        [None] * len(drafts) if job_run.dry_run else embedding.at_once(store, list(map(embedding.text_of, drafts)))
    )
    with job_run.step(store) as step:
        if not covered(step.tx, found):
            return False  # it was ended, erased or chunked meanwhile; the next run reads it again
        for draft, vector in zip(drafts, vectors, strict=True):
            made = step.add(draft, f"it is a part of the conversation {found.info.ref_code}")
            embedding.attach(store, step.work, made, vector)
    job_run.count("chunks", len(drafts))
    return True
