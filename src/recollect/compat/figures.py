"""Names of the figures that an agent dashboard reads from a compaction. Jobs store them under these names."""

from typing import Any

from recollect.clock import iso

__all__ = ["CHECKPOINTS_CLEANED", "CONVERSATIONS_TRIMMED", "ENTRIES_MERGED", "compaction"]

CHECKPOINTS_CLEANED = "checkpointsCleaned"
CONVERSATIONS_TRIMMED = "conversationsTrimmed"
ENTRIES_MERGED = "vaultEntriesMerged"


def compaction(
    now: int, *, checkpoints: int, conversations: int, entries: int, index_rebuilt: bool, files: int
) -> dict[str, Any]:
    """Return the result of a compaction in the form that the dashboard reads and a home stores."""
    return {
        "timestamp": f"{iso(now)[:-1]}.{now % 1_000:03}Z",
        CHECKPOINTS_CLEANED: checkpoints,
        CONVERSATIONS_TRIMMED: conversations,
        ENTRIES_MERGED: entries,
        "indexRebuilt": index_rebuilt,
        "legacyFilesCleaned": files,
    }
