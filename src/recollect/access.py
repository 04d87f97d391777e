"""Access tokens for remote callers, and idempotency keys of requests.

A secret is shown once, when its token is created. Only its SHA-256 is stored, which is enough for a random secret.
Tokens and requests belong to the home, not to an agent.
"""

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256

from recollect import names
from recollect.clock import Clock, Moment, milliseconds
from recollect.engine import erasing
from recollect.engine.agent_store import Store
from recollect.engine.background import Background
from recollect.errors import Conflict, Invalid, NotFound
from recollect.model import checks
from recollect.model.access import ANY, Answer, Right, Token
from recollect.model.entry import Origin
from recollect.storage import access, marks
from recollect.storage.marks import AlreadyApplied

__all__ = ["AlreadyApplied", "InProgress", "Requests", "Tokens"]

PREFIX = "rcl_"
TOKEN_CACHE_MS = 5_000
"""How long a valid token is cached, by the hash of its secret; other processes may take as long to see a revocation."""
USE_RECORD_INTERVAL_MS = 60_000
"""Minimum time between two updates of the time at which a token was last used."""
LEASE_MS = 60_000
"""Lease of a request in progress; once expired, the request may be executed again, as its server may have stopped."""
ANSWER_RETENTION_MS = 24 * 3_600_000
"""Retention of idempotency keys and stored responses."""
EXPIRED_BATCH = 100
"""Maximum number of expired keys to delete when a request begins."""
MAX_BODY_BYTES = 1_000_000
"""Maximum size of a stored response; of a longer one only the status is stored."""
UNKNOWN_OUTCOME = 0
"""Status of a request that failed and may have taken effect."""


class Tokens:
    """The access tokens of a home, as `home.tokens`."""

    def __init__(self, store: Store, clock: Clock, background: Background) -> None:
        self._store, self._clock, self._background = store, clock, background
        self._good: dict[str, tuple[Token, int]] = {}
        """Cached tokens by the hash of their secret, with the time of the lookup."""
        self._lock = threading.Lock()
        self._revocations = 0

    def create(
        self,
        name: str,
        *,
        workspace: str = ANY,
        agents: Iterable[str] = (ANY,),
        right: Right | str = Right.WRITE,
        expires: Moment | None = None,
        origin: Origin | str = Origin.USER,
    ) -> tuple[Token, str]:
        """Create a token and return it with its secret, which cannot be read again.

        `origin` is the most trusted origin that it may claim, for instance `tool` for a token of a tool: what it
        writes has that origin, and it cannot change what was stated by a more trusted one.

        Raises Conflict if the name is taken, and Invalid if `expires` is in the past or an admin token has an origin.
        """
        now = self._clock.now()
        ends = None if expires is None else milliseconds(expires)
        if ends is not None and ends <= now:
            raise Invalid("the expiry time is in the past; pass a time in the future, or none")
        right, origin = checks.member(Right, right, "right"), checks.member(Origin, origin, "origin")
        if right is Right.ADMIN and origin is not Origin.USER:
            raise Invalid("an admin token may do everything; omit the origin, or choose the right write")
        token = Token(
            id=names.new_id(now),
            name=names.name(name),
            workspace=ANY if workspace == ANY else names.segment(workspace, "a workspace"),
            agents=_agents(agents),
            right=right,
            origin=origin,
            created_at=now,
            expires_at=ends,
        )
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._store.database.write(self._store.agent) as tx:
            if tx.one("access.token_by_name", name=token.name) is not None:
                raise Conflict(f"a token {token.name!r} already exists; revoke it, or choose another name")
            access.insert(tx, token, _hash(secret))
        return token, secret

    def list(self, include_revoked: bool = False) -> list[Token]:
        """Return the tokens, oldest first, without revoked ones unless `include_revoked` is set."""
        with self._store.read() as tx:
            return [token for token in access.tokens(tx) if include_revoked or token.revoked_at is None]

    def revoke(self, id_or_name: str) -> Token:
        """Revoke a token permanently: at once in this process, within five seconds in others.

        Raises NotFound if there is no such token.
        """
        target = names.name(id_or_name, "name or id")
        with self._store.read() as tx:  # a read does not create the database
            known = access.find(tx, target)
        if known is None:
            raise NotFound(f"there is no token {target!r}; `token list` shows the existing ones")
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.token_revoke", id=known.id, revoked_at=self._clock.now())
            revoked = access.find(tx, known.id)
        with self._lock:
            self._revocations += 1
            self._good.clear()
        return revoked or known

    def check(self, secret: str) -> Token | None:
        """Return the token of a secret; None if there is none, or if it was revoked or has expired."""
        if not isinstance(secret, str) or not secret.startswith(PREFIX):
            return None
        key, now = _hash(secret), self._clock.now()
        with self._lock:
            token, since = self._good.get(key, (None, 0))
            before = self._revocations
        if token is None or not 0 <= now - since < TOKEN_CACHE_MS:
            with self._store.read() as tx:
                token, since = access.by_hash(tx, key), now
        if token is None or (token.expires_at is not None and token.expires_at <= now):
            with self._lock:
                self._good.pop(key, None)
            return None
        if token.used_at is None or now - token.used_at >= USE_RECORD_INTERVAL_MS:
            token = replace(token, used_at=now)
            self._record_use(token, now)
        with self._lock:
            if before == self._revocations:  # otherwise the token may have been read before a revocation
                self._good[key] = token, since
        return token

    def any(self) -> bool:
        """Return whether there is a token that is valid now."""
        with self._store.read() as tx:
            return tx.one("access.token_in_force", now=self._clock.now()) is not None

    def _record_use(self, token: Token, now: int) -> None:
        """Record the use of a token in the background; the request neither waits for it nor fails with it."""

        def write() -> None:
            with self._store.database.write(self._store.agent) as tx:
                tx.run("access.token_used", id=token.id, used_at=now)

        self._background.run(("token used", token.id), write)


class InProgress(Conflict):
    """A request with the same idempotency key is in progress."""


class Requests:
    """Idempotent requests by a key that the caller chooses, as `home.requests`. Keys are kept for 24 hours."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def begin(self, key: str, fingerprint: str) -> Answer | None:
        """Begin a request. Return None if it must be executed, or the stored answer if it was completed before.

        It must be executed again if it failed with an unknown outcome, or has no answer after a minute: execute it
        within `executing`, which raises AlreadyApplied instead of writing twice. Raises Conflict if the key belongs
        to a request with another fingerprint, if that request is in progress, or if its answer was not stored.
        """
        key, fingerprint, now = _key(key), names.name(fingerprint, "fingerprint"), self._clock.now()
        with self._store.database.write(self._store.agent, group=True) as tx:
            tx.run("access.request_expired", key=key, before=now - ANSWER_RETENTION_MS)
            tx.run("access.requests_expire", before=now - ANSWER_RETENTION_MS, limit=EXPIRED_BATCH)
            if tx.run("access.request_begin", key=key, fingerprint=fingerprint, created_at=now):
                return None
            known = access.request(tx, key)
            again = known is not None and known[0] == fingerprint and known[1] in (None, UNKNOWN_OUTCOME)
            if again and tx.run("access.request_resume", key=key, at=now, before=now - LEASE_MS):
                return None
        if known is None:
            raise InProgress(f"the request {key!r} was released just now; send it again")
        wanted, status, answer = known
        if wanted != fingerprint:
            raise Conflict(f"the key {key!r} was used for another request; choose a new key for a new request")
        if status is None:
            raise InProgress(f"the request {key!r} is in progress, or was interrupted; send it again a minute later")
        if answer is None:
            raise Conflict(
                f"the request {key!r} was done (status {status}), but its response is not stored: it was longer than "
                f"{MAX_BODY_BYTES:,} bytes, or an entry was erased since; read the result itself"
            )
        return answer

    def finish(
        self, key: str, status: int, body: str, headers: Mapping[str, str] | None = None, *, harmless: bool = False
    ) -> None:
        """Store the answer of a request in progress; do nothing if there is none.

        If an entry was erased meanwhile, the body may contain its text, so only the status is stored unless `harmless`.
        """
        key, kept = _key(key), len(body.encode()) <= MAX_BODY_BYTES
        with self._store.database.write(self._store.agent, group=True) as tx:
            access.finish(tx, key, status, body if kept else None, headers or {}, harmless=harmless)

    def fail(self, key: str) -> None:
        """Record that a request failed with an unknown outcome. It may be executed again at once."""
        key = _key(key)
        with self._store.database.write(self._store.agent) as tx:
            access.finish(tx, key, UNKNOWN_OUTCOME, None, {})

    def executing(self, key: str) -> AbstractContextManager[None]:
        """Execute a request in the block.

        Its first write to a memory raises AlreadyApplied if an earlier execution changed that memory.
        """
        return marks.executing(_key(key), self._clock.now())

    def forget_answers(self) -> tuple[int, Sequence[str]]:
        """Delete all stored responses, but not their keys, because a response may contain erased text.

        Responses of requests in progress will not be stored either. Return the number of responses, and the places that
        may still contain them.
        """
        if not self._store.exists():
            return 0, ()
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.answers_refuse")  # a request in progress may have read the erased text
            forgotten = tx.run("access.answers_forget")
            # Scrub for earlier deletions too: it is unknown whether their bytes could be overwritten then.
            without = tx.one("access.answer_missing") is not None
        return forgotten, erasing.scrub(self._store)[1] if without else ()

    def drop(self, key: str) -> None:
        """Remove a request in progress that did nothing, so that it can be sent again."""
        key = _key(key)
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.request_drop", key=key)


def _hash(secret: str) -> str:
    return sha256(secret.encode(errors="replace")).hexdigest()


def _key(value: object) -> str:
    return names.name(value, "idempotency key")


def _agents(values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise Invalid(f"agents must be a list of names, not {values!r}")
    found = tuple(dict.fromkeys(ANY if value == ANY else names.segment(value, "an agent") for value in values))
    if not found:
        raise Invalid("a token needs at least one agent; name some, or omit agents for all")
    return (ANY,) if ANY in found else found
