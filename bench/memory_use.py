"""How much memory this process holds."""

from pathlib import Path

__all__ = ["current_megabytes"]


def current_megabytes() -> float:
    """Resident memory in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6
