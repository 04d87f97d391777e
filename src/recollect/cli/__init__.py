"""The command line. A thin adapter: a command makes one call of the library and prints the result as text or JSON."""

import sys

from recollect.cli.hook_client import delegated

__all__ = ["main"]


def main() -> int:
    """Run the command in `sys.argv` and return the exit code. Known errors never end in a traceback."""
    if sys.argv[1:2] == ["hook"] and delegated(sys.argv[2:]):
        return 0
    from recollect.cli.program import run  # the rest of the command line takes ten times longer to import

    return run()
