"""The knowledge graph of the reference MCP memory server, in that server's own file, and its entities as notes.

The file is the graph: it is read for each call and replaced as a whole by each change, in the format of that server,
so that one can switch between the two at any time, and other programs may read and write it. Lines and fields that the
format does not know are kept. A change also updates the notes of the entities, so that recalls and contexts find them:
an entity is a note of its name with its observations, and with its relations as links. At the start, the file is
imported like by `Home.import_`, by which a note that was forgotten stays forgotten.
"""

import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.errors import Invalid, NotFound, RecollectError, Unavailable
from recollect.home import Home
from recollect.model.operation import Write

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = ["Graph", "GraphFile"]

SOURCE = "mcp-memory"
"""Source of the notes, and name of the format for imports."""
ENTITY, RELATION = ("name", "entityType", "observations"), ("from", "to", "relationType")
Row = dict[str, Any]
_log = logging.getLogger("recollect.compat")


@dataclass(slots=True)
class Graph:
    """The rows of a file: its entities, relations, and lines of other types."""

    entities: list[Row] = field(default_factory=list)
    relations: list[Row] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)

    def entity(self, name: str) -> Row | None:
        """Return the entity with a name."""
        return next((one for one in self.entities if one["name"] == name), None)

    def around(self, entities: list[Row]) -> Row:
        """Return entities, and the relations that begin or end at one of them."""
        names = {one["name"] for one in entities}
        return _shown(entities, [one for one in self.relations if one["from"] in names or one["to"] in names])

    def notes(self) -> dict[str, tuple[str, str]]:
        """Return the type and the text of the note for each entity, by name."""
        links: dict[str, list[str]] = {}
        for one in self.relations:
            links.setdefault(one["from"], []).append(f"{one['relationType']} [[{one['to']}]]")
        found = {}
        for one in self.entities:
            name, kind = one["name"].strip(), one["entityType"].strip()
            text = "\n".join([*filter(str.strip, one["observations"]), *links.get(one["name"], [])])
            found[name] = (kind, text or (f"{name} ({kind})" if kind else name))
        return found


class GraphFile:
    """The graph in a file, whose entities are notes of one agent. Its methods are the server's tools.

    Raises Invalid if the file is damaged, and Unavailable if it cannot be read or written; nothing is changed then.
    """

    def __init__(self, path: Path, home: Home, workspace: str, agent: str) -> None:
        self._path, self._memory = path.expanduser().resolve(), home.agent(agent, workspace)
        self._noted: dict[str, tuple[str, str]] = {}
        """What the notes say."""
        try:
            if self._path.exists() and self._path.stat().st_size:
                home.import_(self._path, agent=agent, workspace=workspace, format=SOURCE)
            self._noted = self._load().notes()
        except RecollectError as error:
            _log.warning("the notes were not updated from the file: %s", error)

    def create_entities(self, entities: list[Row]) -> list[Row]:
        """Add the entities whose names are new; return them."""
        with self._changing() as graph:
            known = {one["name"] for one in graph.entities}
            new = [one for one in entities if one["name"] not in known]
            graph.entities += new
        return new

    def create_relations(self, relations: list[Row]) -> list[Row]:
        """Add the relations that are new; return them."""
        with self._changing() as graph:
            known = set(map(_ends, graph.relations))
            new = [one for one in relations if _ends(one) not in known]
            graph.relations += new
        return new

    def add_observations(self, observations: list[Row]) -> list[Row]:
        """Add observations to entities; return the new ones. Raises NotFound if there is no such entity."""
        done = []
        with self._changing() as graph:
            for one in observations:
                if (entity := graph.entity(one["entityName"])) is None:
                    raise NotFound(f"Entity with name {one['entityName']} not found")
                new = [text for text in one["contents"] if text not in entity["observations"]]
                entity["observations"] = [*entity["observations"], *new]
                done.append({"entityName": one["entityName"], "addedObservations": new})
        return done

    def delete_entities(self, names: list[str]) -> None:
        """Remove entities and the relations from and to them."""
        gone = set(names)
        with self._changing() as graph:
            graph.entities = [one for one in graph.entities if one["name"] not in gone]
            graph.relations = [one for one in graph.relations if not {one["from"], one["to"]} & gone]

    def delete_observations(self, deletions: list[Row]) -> None:
        """Remove observations from entities."""
        with self._changing() as graph:
            for one in deletions:
                if (entity := graph.entity(one["entityName"])) is not None:
                    entity["observations"] = [t for t in entity["observations"] if t not in one["observations"]]

    def delete_relations(self, relations: list[Row]) -> None:
        """Remove relations."""
        gone = set(map(_ends, relations))
        with self._changing() as graph:
            graph.relations = [one for one in graph.relations if _ends(one) not in gone]

    def read_graph(self) -> Row:
        """Return all entities and relations."""
        graph = self._load()
        return _shown(graph.entities, graph.relations)

    def search_nodes(self, query: str) -> Row:
        """Return the entities that contain a text in name, type or an observation, in any case, and their relations."""
        graph, wanted = self._load(), query.lower()

        def has(entity: Row) -> bool:
            texts = (entity["name"], entity["entityType"], *entity["observations"])
            return any(wanted in text.lower() for text in texts)

        return graph.around([one for one in graph.entities if has(one)])

    def open_nodes(self, names: list[str]) -> Row:
        """Return the entities with these names and their relations."""
        graph = self._load()
        return graph.around([one for one in graph.entities if one["name"] in names])

    @contextmanager
    def _changing(self) -> Iterator[Graph]:
        """Yield the graph to change, then replace the file and update the notes. Processes take turns."""
        with _reported(self._path), _locked(self._path):
            graph = self._load()
            yield graph
            self._save(graph)
            self._note(graph.notes())

    def _load(self) -> Graph:
        graph = Graph()
        with _reported(self._path):
            try:
                text = self._path.read_text(encoding="utf-8", errors="surrogateescape")
            except FileNotFoundError:
                return graph
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                row = _parsed(line, f"line {number} of {self._path}")
                kinds = {"entity": graph.entities, "relation": graph.relations}
                kinds.get(row.get("type", ""), graph.others).append(row)
        return graph

    def _save(self, graph: Graph) -> None:
        rows = [{"type": "entity", **one} for one in graph.entities]
        rows += [{"type": "relation", **one} for one in graph.relations]
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in [*rows, *graph.others])
        number, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                os.chmod(name, self._path.stat().st_mode)
            os.replace(name, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise

    def _note(self, wanted: dict[str, tuple[str, str]]) -> None:
        """Update the notes of the entities that have changed; what fails is tried again by the next change."""
        for name in [*wanted, *(self._noted.keys() - wanted.keys())]:
            if self._noted.get(name) == wanted.get(name):
                continue
            try:
                self._put(name, *wanted[name]) if name in wanted else self._forget(name)
            except RecollectError as error:
                _log.warning("the entity %.80r is in the file, but its note was not updated: %s", name, error)
                if not isinstance(error, Invalid):
                    continue
            self._noted.pop(name, None)
            if name in wanted:
                self._noted[name] = wanted[name]

    def _put(self, name: str, kind: str, text: str) -> None:
        try:
            entry = self._memory.get(name)
        except NotFound:
            self._memory.remember(text, name=name, tags=[kind] if kind else [], source=SOURCE)
            return
        if entry.source == SOURCE and entry.name == name and entry.content != text:
            self._memory.apply(Write(entry.id, text))

    def _forget(self, name: str) -> None:
        with suppress(NotFound):
            entry = self._memory.get(name)
            if entry.source == SOURCE and entry.name == name:
                self._memory.forget(entry.id)


def _parsed(line: str, where: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise Invalid(f"{where} is not JSON; repair or remove it. Nothing was changed") from None
    if not isinstance(row, dict):
        raise Invalid(f"{where} is not a JSON object; repair or remove it. Nothing was changed")
    texts = {"entity": ENTITY[:2], "relation": RELATION}.get(row.get("type", ""), ())
    wrong = [key for key in texts if not isinstance(row.get(key), str)]
    listed = row.setdefault("observations", []) if row.get("type") == "entity" else []
    if wrong or not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise Invalid(f"{where} has no valid {', '.join(wrong) or 'observations'}; repair or remove it")
    return row


def _shown(entities: Iterable[Row], relations: Iterable[Row]) -> Row:
    """Return the fields of the format, without the type and without others that the file may have."""
    return {
        "entities": [{key: one[key] for key in ENTITY} for one in entities],
        "relations": [{key: one[key] for key in RELATION} for one in relations],
    }


def _ends(relation: Row) -> tuple[str, ...]:
    return tuple(relation[key] for key in RELATION)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{path} cannot be read or written: {error.strerror}") from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on the file, which the holder replaces: who has waited for the old one tries again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "ab") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    yield
                    return
