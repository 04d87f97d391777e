"""The events that hooks of coding agents handle."""

from collections.abc import Mapping

__all__ = ["CURSOR_HOOKS", "EVENTS", "HOOKS"]

HOOKS: Mapping[str, tuple[str, int]] = {
    "SessionStart": ("session-start", 30),
    "UserPromptSubmit": ("user-prompt", 15),
    "Stop": ("stop", 15),
    "PreCompact": ("pre-compact", 15),
    "SessionEnd": ("session-end", 60),
}
"""Hooks of Claude Code and Codex: the argument of `recollect hook` and the timeout in seconds."""
CURSOR_HOOKS: Mapping[str, str] = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "user-prompt",
    "stop": "stop",
    "preCompact": "pre-compact",
    "sessionEnd": "session-end",
}
"""Hooks of Cursor: the argument of `recollect hook`."""
EVENTS = {word: event for event, (word, _) in HOOKS.items()}
"""The arguments of `recollect hook`, with the events of Claude Code."""
