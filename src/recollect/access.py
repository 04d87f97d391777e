"""The facade of access: tokens for callers from outside, and idempotency of requests.

A secret is shown once, when its token is created. Only its SHA-256 is stored, which is enough for a random secret.
Tokens and requests belong to the home, not to an agent.
"""

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
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
from recollect.storage import access

__all__ = ["InProgress", "Requests", "Tokens"]

PREFIX = "rcl_"
REMEMBERED = 5_000
"""Milliseconds for which a secret that was found good is not looked up again."""
USED_EVERY = 60_000
"""Milliseconds between two notes that a token was used."""
KEPT = 24 * 3_600_000
"""Milliseconds for which the answer to a request is kept."""
EXPIRE = 100
"""Old requests that are removed when a new one begins."""
LONGEST_BODY = 1_000_000
"""Bytes of an answer that are kept."""
UNKNOWN = 0
"""The status of a request that failed, and whose effect is unknown."""


class Tokens:
    """The access tokens of a home, as `home.tokens`."""

    def __init__(self, store: Store, clock: Clock, background: Background) -> None:
        self._store, self._clock, self._background = store, clock, background
        self._good: dict[str, tuple[Token, int]] = {}
        """Tokens by the hash of their secret, and when they were looked up."""
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
            raise Invalid("an admin token may do everything; leave the origin out, or choose the right write")
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
                raise Conflict(f"there is a token {token.name!r} already; revoke it, or choose another name")
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
        with self._store.read() as tx:  # asking creates nothing
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
        if token is None or not 0 <= now - since < REMEMBERED:
            with self._store.read() as tx:
                token, since = access.by_hash(tx, key), now
        if token is None or (token.expires_at is not None and token.expires_at <= now):
            with self._lock:
                self._good.pop(key, None)
            return None
        if token.used_at is None or now - token.used_at >= USED_EVERY:
            token = replace(token, used_at=now)
            self._note(token, now)
        with self._lock:
            if before == self._revocations:  # else what was read may be older than the revocation
                self._good[key] = token, since
        return token

    def any(self) -> bool:
        """Return whether there is a token that is valid now."""
        with self._store.read() as tx:
            return tx.one("access.token_in_force", now=self._clock.now()) is not None

    def _note(self, token: Token, now: int) -> None:
        """Record in the background that a token was used; the request neither waits for it nor fails with it."""

        def write() -> None:
            with self._store.database.write(self._store.agent) as tx:
                tx.run("access.token_used", id=token.id, used_at=now)

        self._background.run(("token used", token.id), write)


class InProgress(Conflict):
    """A request with the same idempotency key is in progress."""


class Requests:
    """Idempotent requests by a key that the caller chooses, as `home.requests`. They are kept for 24 hours."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def begin(self, key: str, fingerprint: str) -> Answer | None:
        """Begin a request. Return None if it is new, or the stored answer if it was completed before.

        Raises Conflict if the key belongs to a request with another fingerprint, if that request is in progress or was
        interrupted, if it failed with an unknown outcome, or if its answer was not stored.
        """
        key, fingerprint, now = _key(key), names.name(fingerprint, "fingerprint"), self._clock.now()
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.request_expired", key=key, before=now - KEPT)
            tx.run("access.requests_expire", before=now - KEPT, limit=EXPIRE)
            if tx.run("access.request_begin", key=key, fingerprint=fingerprint, created_at=now):
                return None
            known = access.request(tx, key)
        if known is None:
            raise InProgress(f"the request {key!r} was dropped just now; send it again")
        wanted, status, answer = known
        if wanted != fingerprint:
            raise Conflict(f"the key {key!r} was used for another request; choose a new key for a new request")
        if status is None:
            raise InProgress(
                f"the request {key!r} is in progress, or was interrupted; if it does not end, check its effect, "
                "and if there is none, send it with a new key"
            )
        if status == UNKNOWN:
            raise Conflict(
                f"the request {key!r} failed, and its effect is unknown; check whether it took effect, "
                "and if not, send it with a new key: this one can be reused a day after it was first sent"
            )
        if answer is None:
            raise Conflict(
                f"the request {key!r} was done (status {status}), but its response is not stored: it was longer than "
                f"{LONGEST_BODY:,} bytes, or something was erased since; ask for the result itself"
            )
        return answer

    def finish(
        self, key: str, status: int, body: str, headers: Mapping[str, str] | None = None, *, harmless: bool = False
    ) -> None:
        """Store the answer of a request in progress; do nothing if there is none.

        If an entry was erased in the meantime, the body may contain its text: only the status is stored then, unless
        `harmless`.
        """
        key, kept = _key(key), len(body.encode()) <= LONGEST_BODY
        with self._store.database.write(self._store.agent) as tx:
            access.finish(tx, key, status, body if kept else None, headers or {}, harmless=harmless)

    def fail(self, key: str) -> None:
        """Record that a request failed with an unknown outcome. Its key stays in use."""
        key = _key(key)
        with self._store.database.write(self._store.agent) as tx:
            access.finish(tx, key, UNKNOWN, None, {})

    def forget_answers(self) -> tuple[int, Sequence[str]]:
        """Remove all stored answers, but not the keys, because an answer may contain erased text.

        Answers of requests in progress will not be stored either. Return the number of answers, and the places that may
        still contain them.
        """
        if not self._store.exists():
            return 0, ()
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.answers_refuse")  # what is under way may have read it before
            forgotten = tx.run("access.answers_forget")
            # Also those that were forgotten before, as it is not known whether they could be overwritten then.
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
