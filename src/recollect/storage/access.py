"""Tokens and stored responses of idempotent requests: rows in, values out. Secrets are only handled as hashes."""

import json
from collections.abc import Mapping

from recollect.model.access import Answer, Right, Token
from recollect.model.entry import Origin
from recollect.storage.database import Row, Transaction

__all__ = ["StoredRequest", "by_hash", "find", "finish", "insert", "request", "tokens"]

StoredRequest = tuple[str, int | None, Answer | None]
"""The fingerprint of a request, its status once finished, and its response if the body was stored."""


def insert(tx: Transaction, token: Token, hash_: str) -> None:
    """Store a new token."""
    tx.run(
        "access.token_insert",
        id=token.id,
        name=token.name,
        hash=hash_,
        workspace=token.workspace,
        agents=json.dumps(token.agents, ensure_ascii=False),
        rights=str(token.right) if token.origin is Origin.USER else f"{token.right} {token.origin}",
        created_at=token.created_at,
        expires_at=token.expires_at,
    )


def by_hash(tx: Transaction, hash_: str) -> Token | None:
    """Return the token whose secret has this hash, unless it was revoked."""
    row = tx.one("access.token_by_hash", hash=hash_)
    return None if row is None else _token(row)


def find(tx: Transaction, id_or_name: str) -> Token | None:
    """Return the token with this id, or the unrevoked token with this name."""
    row = tx.one("access.token_by_id", id=id_or_name) or tx.one("access.token_by_name", name=id_or_name)
    return None if row is None else _token(row)


def tokens(tx: Transaction) -> list[Token]:
    """Return all tokens, oldest first."""
    return [_token(row) for row in tx.all("access.tokens")]


def request(tx: Transaction, key: str) -> StoredRequest | None:
    """Return the stored request with this idempotency key."""
    row = tx.one("access.request", key=key)
    if row is None:
        return None
    fingerprint, status, body, headers = row
    kept = status is not None and body is not None
    return fingerprint, status, Answer(status=status, body=body, headers=json.loads(headers)) if kept else None


def finish(
    tx: Transaction, key: str, status: int, body: str | None, headers: Mapping[str, str], *, harmless: bool = False
) -> None:
    """Store the response of a request in progress; omit the body if storing it was refused, unless it is harmless."""
    text = json.dumps(dict(headers), ensure_ascii=False)
    tx.run("access.request_finish", key=key, status=status, body=body, headers=text, harmless=int(harmless))


def _token(row: Row) -> Token:
    id_, name, workspace, agents, rights, created_at, expires_at, used_at, revoked_at = row
    right, _, origin = rights.partition(" ")
    return Token(
        id=id_,
        name=name,
        workspace=workspace,
        agents=tuple(json.loads(agents)),
        right=Right(right),
        created_at=created_at,
        expires_at=expires_at,
        used_at=used_at,
        revoked_at=revoked_at,
        origin=Origin(origin or Origin.USER),
    )
