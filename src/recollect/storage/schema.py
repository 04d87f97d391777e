"""The schema as numbered migrations, `migrations/*.sql`: both databases apply them, each in its own dialect."""

import re
from functools import cache
from pathlib import Path

__all__ = ["Migration", "key_length", "layout", "migrations"]

_FOLDER = Path(__file__).parent / "migrations"
_MADE = re.compile(r"^(CREATE|DROP) (?:UNIQUE )?(TABLE|INDEX) (\w+)", re.MULTILINE)


class Migration:
    """One numbered step of the schema: `0001_entries.sql` has number 1 and name `entries`."""

    def __init__(self, path: Path) -> None:
        number, _, name = path.stem.partition("_")
        self.number, self.name = int(number), name
        self.sql = path.read_text(encoding="utf-8")

    def statements(self, dialect: str) -> list[str]:
        """Return its statements. A line that starts with `-- postgres: ` applies to PostgreSQL only."""
        lines = [line.strip().removeprefix(f"-- {dialect}: ") for line in self.sql.splitlines()]
        text = "\n".join(line for line in lines if not line.startswith("--"))
        return [part.strip() for part in text.split(";") if part.strip()]


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations, in order."""
    return tuple(Migration(path) for path in sorted(_FOLDER.glob("*.sql")))


@cache
def key_length(table: str) -> int:
    """Return how many of the first columns of a table are its primary key, at least three."""
    keys = (re.search(rf"CREATE TABLE {table} \([^;]*PRIMARY KEY \(([^)]*)\)", one.sql) for one in migrations())
    return max([3, *(key[1].count(",") + 1 for key in keys if key is not None)])


@cache
def layout() -> dict[str, str]:
    """Return the tables and indexes that the migrations create, as name to TABLE or INDEX."""
    made: dict[str, str] = {}
    for migration in migrations():
        for verb, kind, name in _MADE.findall(migration.sql):
            if verb == "CREATE":
                made[name] = kind
            else:
                del made[name]
    return made
