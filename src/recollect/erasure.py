"""Erasing in all places: the database, the files of the vault, pending signals, and stored answers to requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.clock import Clock
from recollect.engine import erasing, erasing_turns
from recollect.engine.access_policy import SHARED
from recollect.engine.agent_store import Store
from recollect.engine.embedding import EmbeddingQueue
from recollect.engine.entries import Entries
from recollect.engine.signals import Signals
from recollect.errors import NotFound, RecollectError
from recollect.model.history import ConversationInfo
from recollect.model.report import Erased, Receipt
from recollect.upkeep import dreaming
from recollect.vault.remains import remains
from recollect.vault.sync import Vault

__all__ = ["Erasure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Erases entries and turns of one agent."""

    agent: str
    clock: Clock
    signals: Signals
    later: EmbeddingQueue
    folder: Path | None
    """The vault's folder, None without one."""
    vault: Callable[[], Vault | None]
    read_edits: Callable[[], None]
    """Reads edited vault files: an edit that has not been read yet would bring the text back."""
    forget_answers: Callable[[], tuple[int, Sequence[str]]]
    """Forgets the stored answers to requests; returns their number, and where they remain."""

    def entry(self, owned: Entries, target: str, if_version: str | None) -> Receipt:
        """Erase an entry, living or in the trash."""
        owned.require_unprotected([], [target])
        self.read_edits()
        self.signals.flush()  # a query that is not recorded yet may quote it
        store = owned.holder_or_trash(target)
        if store is None:
            raise NotFound(f"nothing is remembered under {target!r}, and nothing is in the trash; nothing was erased")
        receipt = erasing.erase(
            store,
            target,
            actor=self.agent,
            now=self.clock.now(),
            if_version=if_version,
            beside=[other for other in owned.stores if other is not store],
            job_stores=_job_stores(owned.stores),
            elsewhere=self._left_in_files,
        )
        self.later.wake(store)
        return self._without_answers(receipt)

    def turns(
        self, stores: Sequence[Store], info: ConversationInfo, seqs: Sequence[int] | None, dry_run: bool
    ) -> Receipt:
        """Erase events of a conversation; all of them if `seqs` is None. The workspace is the first of the stores."""
        if not dry_run:
            self.read_edits()
        self.signals.flush()
        receipt = erasing_turns.erase(
            stores[0],
            info,
            seqs,
            actor=self.agent,
            now=self.clock.now(),
            dry_run=dry_run,
            beside=stores[1:],
            job_stores=_job_stores(stores),
            elsewhere=self._left_in_files,
        )
        if dry_run:
            return receipt
        self.later.wake(stores[0])
        return self._without_answers(receipt)

    def _without_answers(self, receipt: Receipt) -> Receipt:
        """Forget the stored answers to requests, which may quote what was erased; return the completed receipt."""
        answers, left = self.forget_answers()
        gone = [Erased(place="answers to requests", removed=answers)] if answers else []
        remaining = tuple(dict.fromkeys((*receipt.remaining, *left)))
        return replace(receipt, removed=(*receipt.removed, *gone), remaining=remaining)

    def _left_in_files(self, erased: Sequence[str], pieces: Sequence[str]) -> Sequence[str]:
        """Remove erased entries, given by id, from the vault's files; return the places where their text remains."""
        if self.folder is None:
            return ()
        try:
            if (vault := self.vault()) is not None:
                vault.flush()
            for entry_id in erased:
                dreaming.leave_out(self.folder, self.agent, entry_id)
            return list(remains(self.folder, self.agent, pieces, self.clock))
        except (RecollectError, OSError) as error:
            return [f"the files in {self.folder} may hold it, and could not be looked through: {error}"]


def _job_stores(stores: Sequence[Store]) -> list[Store]:
    """Return the stores with the records of jobs, whose errors may quote a text."""
    return [Store(one.database, SHARED) for one in stores]
