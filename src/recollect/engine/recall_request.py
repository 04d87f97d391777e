"""The parameters of a recall, and their limits."""

from dataclasses import dataclass, replace

from recollect import names
from recollect.errors import Invalid
from recollect.model import checks
from recollect.model.filters import Filters
from recollect.providers.base import Reranker
from recollect.search import ranking

__all__ = ["LIMIT", "QUERY_LENGTH", "Request"]

MODES = ("hybrid", "keyword", "vector")
FUSIONS = ("weighted", "rrf")
LIMIT = 1_000
"""Maximum number of hits of one recall."""
QUERY_LENGTH = 10_000
"""Maximum length of a query in characters; the rest is ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Parameters of a recall. `mode` is keyword, vector or hybrid."""

    query: str
    limit: int
    mode: str
    filters: Filters
    fusion: str
    decay: ranking.DecayConfig
    now: int
    prefix: bool = False
    fuzzy: float = 0.0
    explain: bool = False
    min_confidence: float = 0.0
    to_the_end: bool = True
    """Whether the last hits are as exact as the first: lists are read to three times the limit and to the end of a tie,
    in which an entry of a narrower scope may be hidden."""
    snippets: bool = True
    """Whether hits have snippets."""
    reranker: Reranker | None = None
    """Orders the best hits of a hybrid recall, if it is set; their scores remain those of the search."""
    duplicates: str = "words"
    """Which hits are dropped: near-identical texts (`words`), or all that are close to a better hit (`cosine`)."""

    def checked(self) -> "Request":
        """Return the request with the values of a caller validated. Raises Invalid."""
        if self.mode not in MODES:
            raise Invalid(f"unknown recall mode: {self.mode!r}; use one of {', '.join(MODES)}")
        if self.fusion not in FUSIONS:
            raise Invalid(f"unknown fusion: {self.fusion!r}; use one of {', '.join(FUSIONS)}")
        return replace(
            self,
            query=names.plain("query", self.query, lines=True),
            limit=checks.count(self.limit, "hits"),
            fuzzy=checks.share(self.fuzzy, "fuzzy is how much of a word may differ"),
            min_confidence=checks.share(self.min_confidence, "min_confidence is a probability"),
        )
