"""Access tokens and stored responses of idempotent requests. Values only; no secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from recollect.model.entry import Origin

__all__ = ["ANY", "Answer", "Right", "Token"]

ANY = "*"
"""Wildcard in place of a name: every workspace, or every agent."""


class Right(StrEnum):
    """What a token permits. Each right includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: "Right | str") -> bool:
        """Return whether this right includes the other one."""
        order = list(Right)
        return order.index(self) >= order.index(Right(other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Permission to use a home: which workspace and agents, which right, until when. The secret is never stored.

    Times are UTC milliseconds.
    """

    id: str
    name: str
    workspace: str
    agents: tuple[str, ...]
    right: Right
    created_at: int
    expires_at: int | None = None
    used_at: int | None = None
    revoked_at: int | None = None
    origin: Origin = Origin.USER
    """The most trusted origin that it may claim; entries of a more trusted one it may only read."""

    def allows(self, workspace: str, agent: str, right: Right | str) -> bool:
        """Return whether it covers this agent, workspace and right. `check` verifies expiry and revocation.

        For every workspace or agent ("*"), return True only if the token covers them all.
        """
        return (
            self.workspace in (ANY, workspace)
            and (ANY in self.agents or agent in self.agents)
            and self.right.includes(right)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The stored response of a request, replayed when the request is repeated."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
