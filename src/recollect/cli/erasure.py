"""Erasures from the command line: the confirmation before one, and its receipt."""

import sys

import typer

from recollect.cli.output import pairs, remark
from recollect.errors import Invalid
from recollect.model.report import Receipt

__all__ = ["confirm_erasure", "print_receipt"]


def confirm_erasure(what: str) -> None:
    """Ask for confirmation; exit if it is not given, and raise Invalid if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise Invalid("erasing cannot be undone; add --yes to confirm")
    print(f"Permanently erase {what}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        remark("nothing was erased")
        raise typer.Exit(1)


def print_receipt(receipt: Receipt, title: str) -> None:
    """Print a receipt under a title."""
    print(title)
    pairs(
        [
            ("removed", ", ".join(f"{place.place} {place.removed}" for place in receipt.removed)),
            ("rewritten", ", ".join(f"{place.place} {place.rewritten}" for place in receipt.rewritten)),
            ("verified", ", ".join(receipt.verified)),
            *(("remaining", place) for place in receipt.remaining),
        ]
    )
