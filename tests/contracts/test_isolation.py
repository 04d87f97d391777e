"""No read of one agent returns another agent's row: every query binds the agent, and random stories show it."""

import ast
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import Server
from psycopg import sql as quoting

import recollect
from recollect import Add, Alias, FixedClock, Home, Memory, NotFound, Remove, Rename, Write
from recollect.search import index
from recollect.storage.named_queries import queries
from recollect.storage.schema import migrations

PACKAGE = Path(recollect.__file__).parent

# Every query binds the agent: a small reader of the SQL that our queries are written in

TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", "\n".join(migration.sql for migration in migrations())))
_TOKEN = re.compile(r"'(?:[^']|'')*'|:\w+\*?|\w+|<>|[<>!]=|\|\||[^\s\w]")
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "SET", "VALUES", "SELECT", "ON", "RETURNING")
Node = Any  # a word, or a list of nodes: what stands in brackets


def tree(sql: str) -> list[Node]:
    """The words of a query; what stands in brackets is a list of its own."""
    stack: list[list[Node]] = [[]]
    for word in _TOKEN.findall(re.sub(r"--[^\n]*", "", sql)):
        if word == "(":
            stack.append([])
        elif word == ")":
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append(word.upper() if word.upper() in (*_CLAUSES, "AND", "OR", "AS", "JOIN", "INTO") else word)
    return stack[0]


def split(nodes: list[Node], separator: str) -> list[list[Node]]:
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if node == separator:
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def clause(nodes: list[Node], name: str) -> list[Node]:
    """What follows a word, up to the next clause."""
    if name not in nodes:
        return []
    start = nodes.index(name) + 1
    ends = [i for i, node in enumerate(nodes) if i >= start and isinstance(node, str) and node in _CLAUSES]
    return nodes[start : ends[0] if ends else None]


def problems(sql: str) -> list[str]:
    """Why a query may touch another agent's row; nothing when every table in it is bound to `:agent`."""
    return _problems(tree(sql))


def _problems(nodes: list[Node]) -> list[str]:
    inner = [found for node in nodes if isinstance(node, list) for found in _problems(node)]
    verb = str(nodes[0]).upper() if nodes and isinstance(nodes[0], str) else ""
    if verb == "SELECT":
        return inner + _unbound(nodes, _sources(clause(nodes, "FROM")))
    if verb == "DELETE":
        return inner + _unbound(nodes, [(nodes[2], nodes[2])])
    if verb == "UPDATE":
        changed = ["an UPDATE sets the agent"] if _assigned(clause(nodes, "SET")) else []
        return inner + changed + _unbound(nodes, [(nodes[1], nodes[1]), *_sources(clause(nodes, "FROM"))])
    if verb == "INSERT":
        return inner + _inserted(nodes)
    touched = TABLES.intersection(node for node in nodes if isinstance(node, str))
    if verb in ("", "CASE") or not touched or not any(node in ("FROM", "INTO", "JOIN") for node in nodes):
        return inner
    return [*inner, f"{verb} on {', '.join(touched)} is a statement that is not understood"]


def _sources(nodes: list[Node]) -> list[tuple[str, str]]:
    """The tables after FROM, with the names they go by."""
    found = []
    for item in split([node for node in nodes if node != "AS"], ","):
        for source in split(item, "JOIN"):
            words = [node for node in source if str(node).upper() not in ("INNER", "LEFT", "CROSS", "OUTER")]
            reads_parameter = words[:1] == ["json_each"] and len(words[1]) == 1 and words[1][0].startswith(":")
            if words and isinstance(words[0], str) and not reads_parameter:
                found.append((words[0], words[1] if len(words) > 1 and isinstance(words[1], str) else words[0]))
    return found


def _unbound(nodes: list[Node], sources: list[tuple[str, str]]) -> list[str]:
    if any(node in ("UNION", "INTERSECT", "EXCEPT") for node in map(str, nodes)):
        return ["a compound SELECT is not understood; write two queries"]
    where = clause(nodes, "WHERE") + (["AND", *clause(nodes, "ON")] if "JOIN" in nodes else [])
    bound = [] if "OR" in where else split(where, "AND")
    wrong = []
    for table, alias in sources:
        if table not in TABLES:
            wrong.append(f"{table} is no table of ours")
        elif [alias, ".", "agent", "=", ":agent"] not in bound and (
            len(sources) > 1 or ["agent", "=", ":agent"] not in bound
        ):
            wrong.append(f"{table} is read or changed without agent = :agent")
    return wrong


def _inserted(nodes: list[Node]) -> list[str]:
    table, columns = nodes[2], split(nodes[3], ",")
    if table not in TABLES or ["agent"] not in columns:
        return [f"a row of {table} is made without its agent"]
    place = columns.index(["agent"])
    if "SELECT" in nodes:
        start = nodes.index("SELECT")
        values = split(clause(nodes[start:], "SELECT"), ",")
        wrong = _problems(nodes[start:])
    else:
        values = split(nodes[nodes.index("VALUES") + 1], ",")
        wrong = []
    if values[place] != [":agent"]:
        wrong.append(f"a row of {table} is made for another agent than :agent")
    if "SET" in nodes:
        target = nodes[nodes.index("ON") + 2]
        if ["agent"] not in split(target, ",") or _assigned(clause(nodes, "SET")):
            wrong.append(f"a conflict in {table} may change another agent's row")
    return wrong


def _assigned(nodes: list[Node]) -> bool:
    return any(item[:2] == ["agent", "="] for item in split(nodes, ","))


def test_every_named_query_binds_the_agent() -> None:
    found = {name: problems(sql) for name, sql in queries().items() if not name.startswith("admin.")}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_tables_and_the_queries_are_all_known_to_the_check() -> None:
    assert {"entries", "names", "operations", "counters", "tail", "segments", "postings", "removals"} <= TABLES
    assert {"entries.insert", "names.find", "operations.of", "index.postings"} <= queries().keys()
    for migration in migrations():
        for statement in migration.statements("sqlite"):
            if statement.startswith("CREATE TABLE"):
                assert re.search(r"\n\s*agent TEXT NOT NULL( PRIMARY KEY)?,", statement), statement


@pytest.mark.parametrize(
    "bad",
    [
        "SELECT id FROM entries",
        "SELECT id FROM entries WHERE id = :id",
        "SELECT id FROM entries WHERE agent <> :agent",
        "SELECT id FROM entries WHERE agent = :other",
        "SELECT id FROM entries WHERE agent = 'ana'",
        "SELECT id FROM entries WHERE agent = :agent OR id = :id",
        "SELECT id FROM entries WHERE id = :id OR agent = :agent AND id = :id",
        "SELECT id FROM entries WHERE (agent = :agent OR 1 = 1)",
        "SELECT id FROM entries WHERE NOT agent = :agent",
        "SELECT id FROM entries, names WHERE agent = :agent AND id = entry_id",
        "SELECT e.id FROM entries AS e JOIN names AS n ON n.entry_id = e.id WHERE e.agent = :agent",
        "SELECT e.id FROM entries e, names n WHERE e.agent = :agent AND n.agent = e.agent",
        "SELECT id FROM entries WHERE agent = :agent AND EXISTS (SELECT 1 FROM names WHERE entry_id = entries.id)",
        "SELECT id FROM entries WHERE agent = :agent AND id IN (SELECT entry_id FROM names)",
        "SELECT id FROM (SELECT id FROM entries) WHERE agent = :agent",
        "SELECT id, (SELECT count(*) FROM names) FROM entries WHERE agent = :agent",
        "SELECT id FROM entries WHERE agent = :agent UNION ALL SELECT id FROM entries",
        "SELECT id FROM strangers WHERE agent = :agent",
        "-- agent = :agent\nSELECT id FROM entries",
        "UPDATE entries SET content = :content WHERE id = :id",
        "UPDATE entries SET agent = :other WHERE agent = :agent",
        "UPDATE entries SET content = :content",
        "UPDATE entries SET content = name FROM names WHERE entries.agent = :agent AND entries.id = entry_id",
        "SELECT value FROM json_each(names.name)",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE id = :id",
        "DELETE FROM names WHERE agent = :agent OR name = :name",
        "INSERT INTO names (name, entry_id, canonical) VALUES (:name, :entry_id, :canonical)",
        "INSERT INTO names (agent, name) VALUES (:other, :name)",
        "INSERT INTO names (agent, name) VALUES (:name, :agent)",
        "INSERT INTO names (agent, name) SELECT :agent, name FROM names WHERE entry_id = :id",
        "INSERT INTO names (agent, name) SELECT agent, name FROM names WHERE agent = :agent",
        "INSERT INTO names (agent, name) VALUES (:agent, :name) ON CONFLICT (name) DO UPDATE SET name = :name",
        "INSERT INTO names (agent, name) VALUES (:agent, :name) ON CONFLICT (agent) DO UPDATE SET agent = :other",
        "WITH all_of_them AS (SELECT 1) DELETE FROM entries",
        "REPLACE INTO names (agent, name) VALUES (:agent, :name)",
    ],
)
def test_the_check_of_the_queries_notices_each_way_to_forget_the_agent(bad: str) -> None:
    assert problems(bad) != []


@pytest.mark.parametrize(
    "good",
    [
        "SELECT 1",
        "SELECT id FROM entries WHERE agent = :agent AND (id = :id OR seq = :seq) ORDER BY id LIMIT :limit",
        "SELECT e.id FROM entries AS e JOIN names AS n ON n.agent = :agent WHERE e.agent = :agent AND name = :name",
        "SELECT id FROM entries WHERE agent = :agent AND id IN (SELECT entry_id FROM names WHERE agent = :agent)",
        "INSERT INTO names (name, agent) VALUES (:name, :agent) ON CONFLICT (agent, name) DO UPDATE SET name = :name",
        "UPDATE entries SET content = :content WHERE id = :id AND agent = :agent RETURNING id",
        "UPDATE entries SET kind = value FROM (SELECT value FROM json_each(:kinds)) WHERE agent = :agent",
    ],
)
def test_the_check_of_the_queries_lets_a_bound_query_pass(good: str) -> None:
    assert problems(good) == []


@pytest.mark.slow
def test_queries_over_all_agents_are_used_only_to_list_the_agents_of_a_database() -> None:
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "admin." in node.value:
                        users.add((path.relative_to(PACKAGE).as_posix(), function.name, node.value))
    assert users == {
        ("storage/sqlite/administration.py", "agents", "admin.agents"),
        ("storage/postgres/administration.py", "agents", "admin.agents"),
    }
    mentions = [path for path in PACKAGE.rglob("*.py") if '"admin.' in path.read_text(encoding="utf-8")]
    assert {path.relative_to(PACKAGE).as_posix() for path in mentions} == {path for path, _, _ in users}
    assert [name for name in queries() if name.startswith("admin.")] == ["admin.agents"]
    selected = re.findall(r"SELECT (?:min\()?(\w+)", queries()["admin.agents"])
    assert set(selected) == {"agent"}  # names, and nothing of what they have


SERVERS_OWN = {"vectors.index", "vectors.nearest", "vectors.search_list"}
"""Queries that only PostgreSQL understands; there an agent's schema holds nothing of another."""


class Undone(Exception):
    """Raised to roll a transaction back."""


def test_run_by_another_agent_every_query_finds_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "TAIL", 3)
    with recollect.open(tmp_path / "memory.db") as home:
        ben = home.agent("ben")
        entry = ben.remember("amber harbour", name="port", tags=["net"], category="tasks")
        ben.apply(Alias("port", "dock"))
        ben.remember_many(Add(f"amber {number}", name=f"n{number}") for number in range(6))
        ben.forget("n0")
        ben.recall("amber", target_agent="carla")
        values = {
            "id": entry.id,
            "entry_id": entry.id,
            "ids": [found.id for found in ben.list()],
            "docs": list(range(30)),
            "name": "port",
            "needle": '"name"',
            "probe": "amber",
            "segments": list(range(30)),
            "seq": 0,
            "first": 0,
            "last": 99,
            "terms": ["amber", "port"],
            "term": "amber",
            "new": 77,
            "number": 0,
            "created_at": 2**60,
            "limit": 100,
            "scopes": ["workspace"],
            "kinds": ["note"],
            "lifetimes": ["short_term", "long_term"],
            "found": json.dumps([[entry.id]]),
            "accesses": json.dumps([[entry.id, 1, 2**60]]),
            "signals": json.dumps([[1, entry.id, "amber", 1, 1]]),
        }
        values |= dict.fromkeys(
            ("category", "source", "tag", "since", "until", "conversation", "channel", "scope", "kind")
        )
        file = apsw.Connection(str(tmp_path / "memory.db"))
        columns = {
            table: dict(file.execute("SELECT name, type FROM pragma_table_info(?)", (table,))) for table in TABLES
        }
        for table in TABLES:  # those that nothing above has written to
            if not file.execute(f"SELECT 1 FROM {table}").fetchall():
                row = ["ben" if name == "agent" else sample(kind) for name, kind in columns[table].items()]
                file.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        file.close()

        for name, sql in queries().items():
            if name.startswith("admin.") or name in SERVERS_OWN:
                continue
            given = {word: values.get(word, [1] if many else 1) for word, many in re.findall(r":(\w+)(\*?)", sql)}
            if sql.startswith("INSERT") and "json_each" not in sql:
                types = columns[re.findall(r"INTO (\w+)", sql)[0]]
                kept = [word for word in ("id", "name") if types.get(word) == "TEXT"]
                given = {word: values[word] if word in kept else sample(types[word]) for word in given}
            del given["agent"]
            with suppress(Undone), home.agent("ana")._workspace.database.write("ana") as tx:
                before = rows_of_ben(tx)
                assert all(before.values())
                found = tx.all(name, **given)
                # No row, or the one row of an aggregate over none.
                assert found in ([], [(0,)], [(None,)], [(None, None)]), name
                assert rows_of_ben(tx) == before, name
                raise Undone


def sample(kind: str) -> Any:
    return {"TEXT": "x", "REAL": 0.5, "BLOB": b"x"}.get(kind, 1)


def rows_of_ben(tx: Any) -> dict[str, list[Any]]:
    return {table: list(tx.connection.execute(f"SELECT * FROM {table} WHERE agent = 'ben'")) for table in TABLES}


# Random stories with agents whose names are easy to confuse

AGENTS = ["ana", "an", "Ana", "ANA", "ana b", "ana'b", "a_a", "a%a", "ána", "🚀", "_shared", "ana-agent"]
NAMES = ["port", "Port", "dock", "it's"]

agents = st.lists(st.sampled_from(AGENTS), min_size=2, max_size=4, unique=True)
choices = st.integers(0, 1_000)
steps = st.tuples(
    st.sampled_from([*["add"] * 3, "named", "account", "write", "rename", "alias", "forget", "erase", "restore"]),
    choices,
    choices,
    choices,
)


class Neighbours:
    """Several agents in one workspace, each with words that only it has, and a plain record of whose entry is whose."""

    def __init__(self, home: Home, workspace: str, names: list[str]) -> None:
        self.mems = {name: home.agent(name, workspace) for name in names}
        self.secret = dict(zip(names, ("falcon", "granite", "lantern", "mustard"), strict=False))
        self.owned: dict[str, list[str]] = {name: [] for name in names}

    def step(self, kind: str, who: int, which: int, what: int) -> None:
        """One agent acts; a target is any entry or name that anybody has, its own or not."""
        agent = list(self.mems)[who % len(self.mems)]
        mem, secret = self.mems[agent], self.secret[agent]
        targets = [*NAMES, *(entry_id for owned in self.owned.values() for entry_id in owned)]
        target, name = targets[which % len(targets)], NAMES[what % len(NAMES)]
        before = {other: self.state(other) for other in self.mems if other != agent}
        try:
            if kind in ("add", "named", "account"):
                scope = "account" if kind == "account" else "workspace"
                draft = Add(f"{secret} shared words {what}", name=None if kind == "add" else name, scope=scope)
                self.owned[agent].append(mem.apply(draft).id)
            elif kind == "write":
                mem.apply(Write(target, content=f"{secret} rewritten {what}"))
            elif kind == "rename":
                mem.apply(Rename(target, name))
            elif kind == "alias":
                mem.apply(Alias(target, name))
            elif kind == "forget":
                mem.apply(Remove(target))
            elif kind == "erase":
                mem.forget(target, erase=True)
            elif kind == "restore":
                mem.restore(target)
        except NotFound:
            assert kind not in ("add", "named", "account")
        except recollect.Conflict:
            assert kind in ("named", "account", "rename", "alias", "restore")
        for other, state in before.items():
            assert self.state(other) == state, (agent, kind, other)

    def state(self, agent: str) -> list[Any]:
        mem = self.mems[agent]
        return [mem.list(), [self.history(mem, entry_id) for entry_id in self.owned[agent]]]

    @staticmethod
    def history(mem: Memory, target: str) -> list[Any]:
        try:
            return mem.history(target)
        except NotFound:
            return []

    def shared(self) -> set[str]:
        """The entries that all agents may read."""
        return {entry.id for entry in self.mems["_shared"].list(scope="workspace")} if "_shared" in self.mems else set()

    def assert_apart(self) -> None:
        for agent, mem in self.mems.items():
            own = set(self.owned[agent])
            readable = own | self.shared()
            assert {entry.id for entry in mem.list()} <= own
            assert {hit.entry.id for hit in mem.recall("shared words rewritten", limit=100)} <= readable
            for name in NAMES:
                with suppress(NotFound):
                    assert mem.get(name).id in readable
                assert {revision.entry_id for revision in self.history(mem, name)} <= own
            for other in self.mems.keys() - {agent}:
                assert {hit.entry.id for hit in mem.recall(self.secret[other], limit=100)} <= self.shared()
                for entry_id in self.owned[other]:
                    if entry_id not in readable:
                        with pytest.raises(NotFound):
                            mem.get(entry_id)
                    for read in (mem.history, mem.restore, lambda i, m=mem: m.forget(i, erase=True)):
                        with pytest.raises(NotFound):
                            read(entry_id)
                    assert mem.forget(entry_id) is False


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "directory"])
@settings(max_examples=20)
@given(agents, st.lists(steps, min_size=4, max_size=16))
def test_no_agent_ever_sees_or_changes_what_another_one_has(
    kind: str, names: list[str], story: list[tuple[str, int, int, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("memory.db" if kind == "file" else "home")
        with recollect.open(path, clock=FixedClock()) as home:
            neighbours = Neighbours(home, "default", names)
            for step in story:
                neighbours.step(*step)
            neighbours.assert_apart()
            assert home.check().findings == ()


@pytest.fixture(scope="module")
def database_url(postgres_server: Server) -> Iterator[str]:
    url = postgres_server.fresh_database()
    yield url
    postgres_server.drop_database(url)


workspaces = count()


@settings(max_examples=6)
@given(agents, st.lists(steps, min_size=6, max_size=16))
def test_no_agent_on_postgresql_ever_sees_or_changes_what_another_one_has(
    database_url: str, names: list[str], story: list[tuple[str, int, int, int]]
) -> None:
    # The account of an agent is the same in every workspace, so that agents of each story are their own.
    number = next(workspaces)
    with recollect.open(database_url, clock=FixedClock()) as home:
        neighbours = Neighbours(home, f"story{number}", [f"{name}{number}" for name in names])
        for step in story:
            neighbours.step(*step)
        neighbours.assert_apart()
        assert home.check().findings == ()
        if f"story{number}" in home.workspaces():
            home.delete_workspace(f"story{number}")


def test_on_postgresql_the_rows_of_an_agent_are_in_its_own_schema_only(postgres_url: str) -> None:
    names = [*AGENTS, "x" * 64, "x" * 63 + "y"]
    with recollect.open(postgres_url) as home:
        for workspace in ("red", "Red"):
            for name in names:
                mem = home.agent(name, workspace)
                mem.remember(f"{name} in {workspace}", name="where")
                mem.forget("where")
                mem.remember(f"{name} again in {workspace}", name="where")
        home.agent("ana").recall("where", target_agent="an")
        home.agent("ana", "red").remember("tea", scope="account")
        home.agent("an", "red").remember("coffee", scope="account")
    with psycopg.connect(postgres_url) as connection:
        owners = connection.execute("SELECT schema, workspace, agent FROM recollect_control.agents").fetchall()
        schemas = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'recollect%' "
            "AND nspname NOT LIKE 'recollect_without_%'"
        ).fetchall()
        assert len(owners) == len({schema for schema, _, _ in owners}) == 2 * len(names) + 1
        assert {schema for (schema,) in schemas} == {"recollect_control", "recollect_account", *(o[0] for o in owners)}
        for schema, workspace, agent in owners:
            found = set()
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
            for table in TABLES.intersection(name for (name,) in tables):
                query = quoting.SQL("SELECT DISTINCT agent FROM {}").format(quoting.Identifier(schema, table))
                found |= {owner for (owner,) in connection.execute(query)}
            assert found == {agent}
            contents = connection.execute(
                quoting.SQL("SELECT content FROM {}").format(quoting.Identifier(schema, "entries"))
            )
            assert contents.fetchall() in ([(f"{agent} again in {workspace}",)], [])
        preferences = connection.execute("SELECT agent, content FROM recollect_account.entries ORDER BY 1").fetchall()
        assert preferences == [("an", "coffee"), ("ana", "tea")]
