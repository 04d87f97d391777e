"""Put our backend in the place of LanceDBStorage, before the vendor's tests import it."""

import itertools
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("CREWAI_STORAGE_DIR", tempfile.mkdtemp())
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")  # else each save waits five seconds for its trace

import crewai.memory.storage.lancedb_storage
from suite_plugin import location

from recollect.adapters.crewai import Backend

_numbers = itertools.count()
_folder = tempfile.mkdtemp()


class LanceDBStorage(Backend):
    """Our backend with the parameters of LanceDBStorage; without a path it has an empty home of its own."""

    def __init__(self, path: Any = None, **settings: Any) -> None:
        super().__init__(location(path or Path(_folder, f"{next(_numbers)}.db")))


crewai.memory.storage.lancedb_storage.LanceDBStorage = LanceDBStorage
