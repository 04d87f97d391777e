"""Error messages of the library in the words of the command line: options and commands instead of Python names."""

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
    """The message with what a caller in a shell can do about it."""
    wrong, found, _ = message.partition(_SURROGATE)
    if found:  # the words of a shell are in its locale
        return f"{wrong}bytes that are not UTF-8; give it as UTF-8, in a locale such as C.UTF-8"
    for name, told in _NAMES.items():
        message = message.replace(name, told)
    return re.sub(r"\b([a-z_]+)=…", lambda match: f"--{match[1].replace('_', '-')}", message)
