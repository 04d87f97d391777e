"""Translates error messages of the library for the command line: options and commands instead of Python names."""

import re

__all__ = ["for_shell"]

_NAMES = {
    "mode='keyword' or 'hybrid'": "--mode keyword or --mode hybrid",
    "chat_id with resume=True": "--chat-id with --resume",
    "open(vault=…) or [vault] folder": "[vault] folder in the settings",
    "`list`": "`recollect note list`",
    "`recall`": "`recollect recall`",
    "`before`": "--before",
    "`after`": "--after",
}
_SURROGATE = "a lone surrogate, which is not valid Unicode; "


def for_shell(message: str) -> str:
    """Return the message with the remedy in terms of the command line."""
    wrong, found, _ = message.partition(_SURROGATE)
    if found:  # arguments are decoded in the locale of the shell
        return f"{wrong}bytes that are not UTF-8; give it as UTF-8, in a locale such as C.UTF-8"
    for name, replacement in _NAMES.items():
        message = message.replace(name, replacement)
    return re.sub(r"\b([a-z_]+)=…", lambda match: f"--{match[1].replace('_', '-')}", message)
