"""The events that hooks of coding agents handle."""

from collections.abc import Mapping

__all__ = ["HOOKS"]

HOOKS: Mapping[str, tuple[str, int]] = {
    "SessionStart": ("session-start", 30),
    "UserPromptSubmit": ("user-prompt", 15),
    "Stop": ("stop", 15),
    "PreCompact": ("pre-compact", 15),
    "SessionEnd": ("session-end", 60),
}
"""Hooks of Claude Code and Codex: the argument of `recollect hook` and the timeout in seconds."""
