"""The facade of access: tokens for those who use a home from outside, and answers to requests that come twice.

A secret is shown once, when its token is made; what is stored is its SHA-256, which is enough for one that was drawn at
random. Both belong to the home, not to an agent.
"""

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from recollect import names
from recollect.clock import Clock, Moment, milliseconds
from recollect.engine import erasing, remember
from recollect.engine.agent_store import Store
from recollect.engine.background import Background
from recollect.errors import Conflict, Invalid, NotFound
from recollect.model.access import ANY, Answer, Right, Token
from recollect.storage import access

__all__ = ["Requests", "Tokens", "UnderWay"]

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
"""The status of a request that failed, and of which nobody knows whether it was done."""


class Tokens:
    """The tokens of a home, as `home.tokens`."""

    def __init__(self, store: Store, clock: Clock, background: Background) -> None:
        self._store, self._clock, self._background = store, clock, background
        self._good: dict[str, tuple[Token, int]] = {}
        """Tokens by the hash of their secret, and when they were looked up."""
        self._lock = threading.Lock()
        self._revocations = 0

    def create(
        self, name: str, *, workspace: str = ANY, agents: Iterable[str] = (ANY,), right: Right | str = Right.WRITE,
        expires: Moment | None = None,
    ) -> tuple[Token, str]:  # fmt: skip
        """Make a token; with it comes its secret, which nobody can ask for again. A name in use is a Conflict."""
        now = self._clock.now()
        ends = None if expires is None else milliseconds(expires)
        if ends is not None and ends <= now:
            raise Invalid("the token would have expired already; give a moment in the future, or none")
        token = Token(
            id=names.new_id(now), name=names.name(name),
            workspace=ANY if workspace == ANY else names.segment(workspace, "a workspace"), agents=_agents(agents),
            right=remember.member(Right, right, "right"), created_at=now, expires_at=ends,
        )  # fmt: skip
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._store.database.write(self._store.agent) as tx:
            if tx.one("access.token_by_name", name=token.name) is not None:
                raise Conflict(f"there is a token {token.name!r} already; revoke it, or choose another name")
            access.insert(tx, token, _hash(secret))
        return token, secret

    def list(self, include_revoked: bool = False) -> list[Token]:
        """The tokens, oldest first; also those that were revoked, if you like."""
        with self._store.read() as tx:
            return [token for token in access.tokens(tx) if include_revoked or token.revoked_at is None]

    def revoke(self, id_or_name: str) -> Token:
        """End a token: at once in this process, within five seconds in others. There is no way back."""
        target = names.name(id_or_name, "name or id")
        with self._store.read() as tx:  # asking creates nothing
            known = access.find(tx, target)
        if known is None:
            raise NotFound(f"there is no token {target!r}; the list of tokens shows those that are there")
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.token_revoke", id=known.id, revoked_at=self._clock.now())
            revoked = access.find(tx, known.id)
        with self._lock:
            self._revocations += 1
            self._good.clear()
        return revoked or known

    def check(self, secret: str) -> Token | None:
        """The token that a secret belongs to; None if there is none, or it was revoked or has expired."""
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
        """Whether there is a token in force."""
        with self._store.read() as tx:
            return tx.one("access.token_in_force", now=self._clock.now()) is not None

    def _note(self, token: Token, now: int) -> None:
        """Write down that a token was used, aside: nobody waits for it, and its failure is no refusal."""

        def write() -> None:
            with self._store.database.write(self._store.agent) as tx:
                tx.run("access.token_used", id=token.id, used_at=now)

        self._background.run(("token used", token.id), write)


class UnderWay(Conflict):
    """The same request came before, under the same key, and is not done yet."""


class Requests:
    """Requests that must not be done twice, by a key that the caller chose, as `home.requests`. Kept for a day."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def begin(self, key: str, fingerprint: str) -> Answer | None:
        """None for a new request, which is then under way; the answer for one that was done already.

        A Conflict when the key came with another fingerprint, when the request is still under way or was broken off,
        when it failed so that nobody knows whether it was done, and when its answer is not kept.
        """
        key, fingerprint, now = _key(key), names.name(fingerprint, "fingerprint"), self._clock.now()
        with self._store.database.write(self._store.agent) as tx:
            tx.run("access.request_expired", key=key, before=now - KEPT)
            tx.run("access.requests_expire", before=now - KEPT, limit=EXPIRE)
            if tx.run("access.request_begin", key=key, fingerprint=fingerprint, created_at=now):
                return None
            known = access.request(tx, key)
        if known is None:
            raise UnderWay(f"the request {key!r} was dropped at this very moment; send it again")
        wanted, status, answer = known
        if wanted != fingerprint:
            raise Conflict(f"the key {key!r} belongs to another request; choose a new key for a new request")
        if status is None:
            raise UnderWay(
                f"the request {key!r} is under way, or was broken off; if it does not end, look whether it was done, "
                "and if it was not, send it with a new key"
            )
        if status == UNKNOWN:
            raise Conflict(
                f"the request {key!r} failed, and whether it was done is not known; look whether what it should do is "
                "there, and if it is not, send it with a new key: this one is free again a day after it was first sent"
            )
        if answer is None:
            raise Conflict(
                f"the request {key!r} was done (status {status}), but its answer is not kept: it was longer than "
                f"{LONGEST_BODY:,} bytes, or something was erased since; ask for the result itself"
            )
        return answer

    def finish(
        self, key: str, status: int, body: str, headers: Mapping[str, str] | None = None, *, harmless: bool = False
    ) -> None:
        """Keep the answer of a request that is under way; nothing, if it no longer is.

        Where something was erased meanwhile, which may be in it, only the status is kept, unless it is `harmless`.
        """
        key, kept = _key(key), len(body.encode()) <= LONGEST_BODY
        with self._store.database.write(self._store.agent) as tx:
            access.finish(tx, key, status, body if kept else None, headers or {}, harmless=harmless)

    def fail(self, key: str) -> None:
        """Say of a request under way that it failed, and may be done or not. Its key stays taken as if it was done."""
        key = _key(key)
        with self._store.database.write(self._store.agent) as tx:
            access.finish(tx, key, UNKNOWN, None, {})

    def forget_answers(self) -> tuple[int, Sequence[str]]:
        """Forget what was answered, but not that it was done: a text that is erased may be in it.

        What is under way now may have seen it, too: its answer will not be kept. How many answers, and the
        places where they may still be read.
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
        """Forget a request that is under way, because nothing was done; it may come again."""
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
        raise Invalid("a token without agents would be of no use; name some, or leave them out for all")
    return (ANY,) if ANY in found else found
