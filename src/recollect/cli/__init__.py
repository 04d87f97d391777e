"""The command line. A thin adapter: a command makes one call of the library and prints the result as text or JSON."""

import gc
import sys

from recollect.cli.hook_client import delegated

__all__ = ["main"]


def main() -> int:
    """Run the command in `sys.argv` and return the exit code. Known errors never end in a traceback."""
    gc.disable()  # nothing that is imported is garbage; `program` enables it again
    try:
        if sys.argv[1:2] == ["hook"] and delegated(sys.argv[2:]):
            return 0
        from recollect.cli.program import run  # the rest of the command line takes ten times longer to import

        return run()
    finally:
        gc.freeze()  # the end of the process does not search modules for garbage, a fifth of a short command
        gc.enable()
