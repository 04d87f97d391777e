"""The facade of review: methods validate their input and delegate to the engine."""

import builtins

from recollect import names
from recollect.clock import Clock
from recollect.engine import reviewing
from recollect.engine.entries import Entries
from recollect.errors import Invalid
from recollect.model.checks import count, member, reason
from recollect.model.entry import Origin
from recollect.model.operation import Add, checked
from recollect.model.review import Resolution, ReviewPair

__all__ = ["Review"]


class Review:
    """Pairs of entries that may contradict, update or repeat each other, as `mem.review`.

    The job `review` finds them. It changes no entry: both are recalled until a pair is resolved, the newer one first.
    """

    def __init__(self, entries: Entries, clock: Clock) -> None:
        self._entries, self._clock = entries, clock

    def list(
        self, *, include_resolved: bool = False, limit: int = 100, after: ReviewPair | str | None = None
    ) -> builtins.list[ReviewPair]:
        """Return open pairs, found last first, with both entries; with resolved ones if `include_resolved` is set.

        A pair is no longer listed when one of its entries was forgotten, erased, superseded, retracted or has expired.
        For the next page, pass the last one of this page as `after`, or its `cursor`.
        """
        place = None if after is None else _identity(after)
        return reviewing.listed(
            self._entries.stores,
            self._clock.now(),
            after=place,
            limit=min(count(limit, "pairs"), 1_000_000),
            resolved=bool(include_resolved),
        )

    def resolve(
        self,
        pair: ReviewPair | str,
        resolution: Resolution | str,
        *,
        content: str | None = None,
        origin: Origin | str | None = None,
        why: str | None = None,
    ) -> ReviewPair:
        """Resolve a pair and return it. `restore` of a closed entry undoes it.

        `newer` and `older` say which entry holds: it supersedes the other one and takes over its names. `both` keeps
        both; the pair is not proposed again, but can still be resolved otherwise. `merge` stores `content` as a new
        entry that supersedes both; `origin` says who stated it.

        Raises NotFound if there is no such pair, Conflict if an entry of it was closed or no longer holds, and Denied
        if the entry to close is of a more trusted origin than the one that holds.
        """
        chosen = member(Resolution, resolution, "resolution")
        if (content is not None) is not (chosen is Resolution.MERGE):
            raise Invalid(
                "`merge` takes the content of the entry that replaces both, and no other resolution takes one"
            )
        draft = None if content is None else checked(Add(content, origin=origin))
        assert draft is None or isinstance(draft, Add)
        return self._entries.resolve(_identity(pair), chosen, draft, reason(why))

    def reopen(self, pair: ReviewPair | str) -> ReviewPair:
        """Undo the resolution `both`: the pair is open again. Return it. Other resolutions are undone by `restore`.

        Raises NotFound if there is no such pair, and Conflict if an entry of it was closed or no longer holds.
        """
        return self._entries.reopen_pair(_identity(pair))


def _identity(pair: ReviewPair | str) -> str:
    return pair.id if isinstance(pair, ReviewPair) else names.name(pair, "id of a pair")
