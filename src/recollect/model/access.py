"""Who may use a home from outside, and what a request that came twice was answered. Values only; no secret is here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["ANY", "Answer", "Right", "Token"]

ANY = "*"
"""In the place of a name: every workspace, or every agent."""


class Right(StrEnum):
    """What a token may do. Each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: "Right | str") -> bool:
        """Whether who has this right also has the other one."""
        order = list(Right)
        return order.index(self) >= order.index(Right(other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Leave to use a home: which workspace and agents, how far, and until when. Its secret is nowhere stored.

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

    def allows(self, workspace: str, agent: str, right: Right | str) -> bool:
        """Whether it covers this agent of this workspace and this right. Whether it is in force `check` has said.

        Asked about every workspace or agent ("*"), the answer is yes only if the token covers them all.
        """
        return (
            self.workspace in (ANY, workspace)
            and (ANY in self.agents or agent in self.agents)
            and self.right.includes(right)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a request was answered, to be given again when it comes again."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
