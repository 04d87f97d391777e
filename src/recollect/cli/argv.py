"""Separates text from options among the arguments, before Typer parses them.

Typer treats every word that begins with a dash as an option and would reject `remember '- [ ] call Anna'`. That word
cannot be an option: the name of one has letters, digits and dashes only, up to its end or to an equals sign.
"""

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["separate_text"]

_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*(=|\Z)")


def separate_text(command: Any, words: Sequence[str]) -> list[str]:
    """Move text behind a `--`, in its order, if any of it begins with a dash; otherwise return the words unchanged.

    `command` is the group or command that the words are for.
    """
    valued = {name for one in command.params if _takes_value(one) for name in one.opts}
    options, texts, rest = list[str](), list[str](), iter(words)
    for word in rest:
        if word == "--":
            texts += rest
        elif not _is_option(word):
            if word in getattr(command, "commands", {}):
                return [*options, word, *separate_text(command.commands[word], list(rest))]
            texts.append(word)
        else:
            options.append(word)
            if word in valued:
                options += _value(rest)
    # If the last option lacks its value, `--` must not be taken for it.
    complete = not options or options[-1] not in valued
    return [*options, "--", *texts] if complete and any(map(_begins_with_dash, texts)) else list(words)


def _value(rest: Any) -> list[str]:
    return [word for word in (next(rest, None),) if word is not None]


def _takes_value(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and not parameter.is_flag


def _begins_with_dash(word: str) -> bool:
    return word.startswith("-") and word != "-"  # `-` is stdin


def _is_option(word: str) -> bool:
    return _OPTION.match(word) is not None
