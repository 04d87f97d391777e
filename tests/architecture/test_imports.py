"""The layers of the package and the direction of imports, read from the source. Every rule has a violation, too."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from sources import parsed

import recollect

PACKAGE = Path(recollect.__file__).parent

# From the bottom up: a module may import from its own layer and from those below.
LAYERS: list[set[str]] = [
    {
        "answer_scores",
        "errors",
        "clock",
        "names",
        "text",
        "fencing",
        "concepts",
        "contradiction_words",
        "contradictions",
        "light_words",
        "locations",
        "standing_rules",
        "statement_words",
        "compounds",
        "languages",
        "stemming",
        "sentences",
        "stop_words",
        "token_estimate",
        "statements",
        "transcripts",
        "validity",
        "config",
        "environment",
        "model",
        "compat.figures",
    },
    {"storage", "search", "providers"},
    {"engine"},
    {"vault"},
    {"upkeep", "transfer"},
    {
        "compat.store_tools",
        "channels",
        "conversation",
        "conversations",
        "erasure",
        "evaluation",
        "home_services",
        "vault_files",
        "memory_reads",
        "scratchpad",
        "reminders",
        "review",
        "access",
        "memory",
        "place",
        "home",
        "aio",
        "wiring",
    },
    {"recollect"},  # the package itself: public names only
    {"cli", "rest", "mcp", "ui", "client", "adapters", "compat", "__main__"},
]
SURFACES = len(LAYERS) - 1
SEEN_BY_SURFACES = {
    "recollect",
    "home",
    "memory",
    "conversation",
    "compat.store_tools",
    "access",
    "aio",
    "model",
    "errors",
    "config",
    "environment",
    "evaluation",
    "locations",
    "wiring",
    "clock",
    "fencing",
    "transcripts",
}
STARTERS = {("__main__", "cli"), ("cli.mcp", "mcp"), ("cli.serve", "rest"), ("rest.app", "mcp"), ("rest.app", "ui")}
STARTERS |= {("rest.app", "compat"), ("mcp.server", "compat"), ("cli.mcp", "compat"), ("compat.server_memory", "mcp")}
STARTERS |= {("compat.dashboard", "rest"), ("compat.dashboard_types", "rest"), ("compat.forge", "mcp")}
"""Modules that start another surface, or are mounted in one."""
# A driver is imported in one package.
DRIVERS = {"apsw": "storage.sqlite", "psycopg": "storage.postgres", "psycopg_pool": "storage.postgres"}
BACKENDS = {"storage.sqlite", "storage.postgres"}
HEAVY = {
    "numpy",
    "psycopg",
    "psycopg_pool",
    "onnxruntime",
    "tokenizers",
    "wordllama",
    "pygit2",
    "fastapi",
    "uvicorn",
    "mcp",
    "openai",
}
HEAVY |= {"rich", "tomlkit", "typer", "yaml"}
HEAVY |= {"difflib", "shutil", "socket", "subprocess", "tomllib"}
"""Packages that are loaded when they are needed, because they are optional or slow to import."""
LATE = {
    "access",
    "compat.store_tools",
    "memory",
    "providers.onnx",
    "wiring",
    "erasure",
    "statements",
    "validity",
    "cli.app",
    "cli.default_home",
    "cli.hook_call",
    "cli.hook_process",
    "cli.hook_server",
    "cli.program",
}
LATE |= {
    f"engine.{name}"
    for name in (
        "checking",
        "context",
        "ending",
        "listing",
        "net_changes",
        "orientation",
        "overview",
        "provenance",
        "recall",
    )
}
LATE |= {
    "engine.summarising",
    "engine.timeline",
    "transfer.formats",
    "transfer.restoring",
    "upkeep.runner",
    "upkeep.tidying",
}
LATE |= {
    f"vault.{name}" for name in ("converting", "git", "identity", "markdown", "merging", "note_graph", "note_merging")
}
LATE |= {f"vault.{name}" for name in ("links", "note_folder", "removing", "status", "sync")}
"""Modules that are imported where they are called, because a hook or the start of a command needs none of them."""


@dataclass(frozen=True)
class Import:
    """One import: of a module of the package (without the prefix `recollect.`) or of something outside."""

    module: str
    """The module that is imported."""
    ours: bool
    inside: bool
    """Inside a function."""
    typing: bool
    """For the type checker only."""
    line: int

    @property
    def root(self) -> str:
        return self.module.split(".")[0]


@cache
def modules(package: Path) -> dict[str, ast.Module]:
    """The modules of a package by their names without the package's own; the package itself is `recollect`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = list(path.relative_to(package).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(parts) or "recollect"] = parsed(path)
    return found


def imports(package: dict[str, ast.Module], name: str) -> tuple[Import, ...]:
    """What a module imports, wherever in it."""
    return _imports(package[name], name, frozenset(package))


@cache
def _imports(source: ast.Module, name: str, package: frozenset[str]) -> tuple[Import, ...]:
    def walk(node: ast.AST, inside: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            here = inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            guarded = typing or (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"))
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield made(alias.name, here, guarded, child.lineno)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{name}: a relative import in line {child.lineno}; write the whole name"
                for alias in child.names:
                    inner = f"{child.module}.{alias.name}".removeprefix("recollect.")
                    is_module = child.module and child.module.split(".")[0] == "recollect" and inner in package
                    yield made(f"recollect.{inner}" if is_module else str(child.module), here, guarded, child.lineno)
            yield from walk(child, here, guarded)

    def made(module: str, inside: bool, typing: bool, line: int) -> Import:
        ours = module.split(".")[0] == "recollect"
        return Import(module.removeprefix("recollect.") if ours else module, ours, inside, typing, line)

    return tuple(walk(source, False, False))


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def is_backend(module: str) -> bool:
    return any(is_in(module, backend) for backend in BACKENDS)


def layer(module: str) -> int:
    for name in (module, module.split(".")[0]):  # a module of `compat` may belong to another layer than its package
        for number, names in enumerate(LAYERS):
            if name in names:
                return number
    raise AssertionError(f"{module} belongs to no layer; add it to LAYERS")


# The rules: each gives what breaks it


def upward(package: dict[str, ast.Module]) -> list[str]:
    return [
        f"{name} imports {found.module}, which is above it"
        for name in package
        for found in imports(package, name)
        if found.ours and layer(found.module) > layer(name)
    ]


def around_the_seam(package: dict[str, ast.Module]) -> list[str]:
    return [
        f"{name} imports {found.module}; only wiring names a backend"
        for name in package
        for found in imports(package, name)
        if found.ours and is_backend(found.module) and name != "wiring" and not is_backend(name)
    ]


def drivers_elsewhere(package: dict[str, ast.Module]) -> list[str]:
    return [
        f"{name} imports {found.module}; only {DRIVERS[found.root]} may"
        for name in package
        for found in imports(package, name)
        if not found.ours and found.root in DRIVERS and not is_in(name, DRIVERS[found.root])
    ]


def surfaces_that_see_too_much(package: dict[str, ast.Module]) -> list[str]:
    return [
        f"{name} imports {found.module}; a surface only translates"
        for name in package
        for found in imports(package, name)
        if layer(name) == SURFACES
        and found.ours
        and not {found.root, found.module} & {*SEEN_BY_SURFACES, name.split(".")[0]}
        and (name, found.root) not in STARTERS
    ]


def cycles(package: dict[str, ast.Module]) -> list[str]:
    uses = {
        name: {i.module for i in imports(package, name) if i.ours and i.module in package and not i.typing}
        for name in package
    }
    found = []
    for name in package:
        seen: set[str] = set()
        waiting = list(uses[name])
        while waiting:
            other = waiting.pop()
            if other == name:
                found.append(f"{name} imports itself by way of others")
                break
            if other not in seen:
                seen.add(other)
                waiting += uses.get(other, set())
    return found


def hidden(package: dict[str, ast.Module]) -> list[str]:
    @cache
    def heavy(module: str) -> bool:
        if module not in package:
            return False
        return any(
            not i.typing and not i.inside and (i.root in HEAVY if not i.ours else heavy(i.module))
            for i in imports(package, module)
        )

    return [
        f"{name} imports {found.module} inside a function, line {found.line}; it is neither optional nor heavy"
        for name in package
        for found in imports(package, name)
        if found.inside
        and not found.typing
        and not (found.module in LATE or heavy(found.module) if found.ours else found.root in HEAVY)
    ]


def asking_the_time(package: dict[str, ast.Module]) -> list[str]:
    asks = {"time", "time_ns", "monotonic", "monotonic_ns", "localtime", "gmtime", "perf_counter"}
    calls = {"now", "utcnow", "today"}
    found = []
    for name, module in package.items():
        if name == "clock":
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                found.append(f"{name} takes {', '.join(alias.name for alias in node.names)} from time")
            if isinstance(node, ast.Attribute) and node.attr in asks | calls:
                of = ast.unparse(node.value)
                if of == "time" if node.attr in asks else of.split(".")[-1] in ("datetime", "date"):
                    found.append(f"{name} asks {of}.{node.attr}; only clock may")
    return found


def reading_the_environment(package: dict[str, ast.Module]) -> list[str]:
    found = []
    for name, module in package.items():
        if name in ("config", "environment"):
            continue
        for node in ast.walk(module):
            words = (
                [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) and node.module == "os" else []
            )
            if isinstance(node, ast.Attribute):
                words.append(node.attr)
            if {"environ", "environb", "getenv"}.intersection(words):
                found.append(f"{name} reads the environment, line {node.lineno}; only config and environment may")  # type: ignore[attr-defined]
    return found


RULES = [
    upward,
    around_the_seam,
    drivers_elsewhere,
    surfaces_that_see_too_much,
    cycles,
    hidden,
    asking_the_time,
    reading_the_environment,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_its_rules(rule: object) -> None:
    assert rule(modules(PACKAGE)) == []  # type: ignore[operator]


def test_every_module_belongs_to_a_layer() -> None:
    package = modules(PACKAGE)
    assert {
        "recollect",
        "memory",
        "engine.remember",
        "storage.sqlite.file",
        "search.index",
        "model.entry",
    } <= package.keys()
    for name in package:
        layer(name)
    assert {found.root for found in imports(package, "storage.sqlite.file") if not found.ours} >= {"apsw"}


def test_every_module_says_what_it_is_for() -> None:
    for name, module in modules(PACKAGE).items():
        assert ast.get_docstring(module), f"{name} has no docstring"


BREACHES = [
    (upward, {"storage/entries.py": "from recollect.engine import remember", "engine/remember.py": ""}),
    (upward, {"engine/recall.py": "import recollect.memory", "memory.py": ""}),
    (upward, {"engine/ending.py": "from recollect.upkeep import extraction", "upkeep/extraction.py": ""}),
    (upward, {"engine/prompt.py": "from recollect.vault.files import opened", "vault/files.py": "opened = 1"}),
    (upward, {"vault/removing.py": "from recollect.upkeep import dreaming", "upkeep/dreaming.py": ""}),
    (upward, {"names.py": "from recollect.storage.database import Row", "storage/database.py": "Row = tuple"}),
    (upward, {"memory.py": "import recollect"}),
    (upward, {"home.py": "def f():\n    from recollect.cli import main", "cli/__init__.py": "main = 1"}),
    (around_the_seam, {"engine/remember.py": "from recollect.storage import sqlite", "storage/sqlite/__init__.py": ""}),
    (around_the_seam, {"engine/remember.py": "import recollect.storage.sqlite.file", "storage/sqlite/file.py": ""}),
    (drivers_elsewhere, {"storage/sqlited.py": "import apsw"}),
    (around_the_seam, {"home.py": "import recollect.storage.postgres.server", "storage/postgres/server.py": ""}),
    (drivers_elsewhere, {"engine/remember.py": "import apsw"}),
    (drivers_elsewhere, {"storage/sqlite/file.py": "def f():\n    from psycopg import sql"}),
    (drivers_elsewhere, {"storage/entries.py": "import apsw.ext"}),
    (surfaces_that_see_too_much, {"cli/note.py": "from recollect.storage import entries", "storage/entries.py": ""}),
    (
        surfaces_that_see_too_much,
        {"rest/routes.py": "from recollect.engine.recall import recall", "engine/recall.py": ""},
    ),
    (surfaces_that_see_too_much, {"mcp/tools.py": "from recollect.cli import output", "cli/output.py": ""}),
    (cycles, {"names.py": "import recollect.text", "text.py": "import recollect.names"}),
    (cycles, {"names.py": "from recollect import text", "text.py": "def f():\n    from recollect import names"}),
    (cycles, {"a.py": "import recollect.b", "b.py": "import recollect.c", "c.py": "import recollect.a"}),
    (hidden, {"names.py": "def f():\n    import json"}),
    (hidden, {"home.py": "def f():\n    from recollect.review import Review", "review.py": "import json"}),
    (
        hidden,
        {"home.py": "class A:\n    def f(self):\n        return lambda: 1\n    async def g(self):\n        import re"},
    ),
    (asking_the_time, {"names.py": "import time\nx = time.time()"}),
    (asking_the_time, {"names.py": "from time import time_ns"}),
    (asking_the_time, {"engine/recall.py": "import datetime\nx = datetime.datetime.now(datetime.UTC)"}),
    (asking_the_time, {"engine/recall.py": "from datetime import date\nx = date.today()"}),
    (reading_the_environment, {"wiring.py": "import os\nx = os.environ['HOME']"}),
    (reading_the_environment, {"cli/app.py": "import os\nx = os.getenv('HOME')"}),
    (reading_the_environment, {"cli/app.py": "from os import environ"}),
]


def tree(folder: Path, files: dict[str, str]) -> dict[str, ast.Module]:
    for name, source in {"__init__.py": "", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source + "\n")
    return modules(folder)


@pytest.mark.parametrize(("rule", "files"), BREACHES, ids=lambda value: getattr(value, "__name__", None))
def test_each_rule_notices_a_breach(tmp_path: Path, rule: object, files: dict[str, str]) -> None:
    assert rule(tree(tmp_path, files)) != []  # type: ignore[operator]


def test_each_rule_accepts_a_package_that_keeps_it(tmp_path: Path) -> None:
    package = tree(
        tmp_path,
        {
            "errors.py": "class NotFound(Exception): ...",
            "clock.py": "import time\nnow = time.time_ns()",
            "config.py": "import os\nhome = os.environ.get('RECOLLECT_HOME')",
            "storage/sqlite/__init__.py": "",
            "storage/sqlite/file.py": "import apsw\nfrom recollect.errors import NotFound",
            "storage/postgres/__init__.py": "",
            "storage/postgres/server.py": "import psycopg",
            "search/arrays.py": "import numpy",
            "search/index.py": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from recollect.search.arrays import View\n"
                "def search():\n    from recollect.search.arrays import View\n    import numpy"
            ),
            "engine/recall.py": "from recollect.search import index\nfrom recollect import errors",
            "memory.py": "from recollect.engine.recall import index",
            "wiring.py": "import recollect.storage.sqlite.file\ndef f():\n    import recollect.storage.postgres.server",
            "__init__.py": "from recollect.memory import index",
            "cli/__init__.py": "import recollect\nfrom recollect.cli import app",
            "cli/app.py": "import time\nfrom recollect.memory import index\ntime.sleep",
            "__main__.py": "from recollect.cli import app",
        },
    )
    assert [found for rule in RULES for found in rule(package)] == []


# What an import loads

LOADED = """
import sys
{code}
print(*sorted({{name.split(".")[0] for name in sys.modules}}))
"""
SLOW = {"numpy", "psycopg", "psycopg_pool", "typer", "click", "rich", "pydantic", "pydantic_settings", "asyncio"}
SERVERS = {"fastapi", "starlette", "uvicorn", "mcp", "anyio", "http", "socketserver", "ssl", "openai", "wordllama"}


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(code=code)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    return set(done.stdout.split())


def modules_of(words: str, given: str = "") -> set[str]:
    """Return what a command has loaded at its end."""
    code = f"import sys; sys.argv = ['recollect', *{words.split()!r}]; import recollect.cli; recollect.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules, file=sys.stderr)"],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    return set(done.stderr.splitlines()[-1].split())


def third_party(loaded: set[str]) -> set[str]:
    roots = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names
    return {name for name in roots if not name.startswith("_") and name != "cython_runtime"}


def late(loaded: set[str]) -> set[str]:
    return {f"recollect.{name}" for name in LATE} & loaded


def test_importing_the_package_loads_one_module_of_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, recollect; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    assert {name for name in done.stdout.split() if name.startswith("recollect")} == {"recollect"}


@pytest.mark.parametrize("event", ["stop", "pre-compact"])
def test_a_hook_that_stores_a_turn_loads_two_packages_and_no_module_that_others_need(
    tmp_path: Path, event: str
) -> None:
    message = {"type": "user", "message": {"role": "user", "content": "We deploy on Tuesdays."}}
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(json.dumps(message) + "\n")
    with recollect.open(tmp_path / "home.db") as home:
        home.agent("default").remember("We deploy on Tuesdays.")
    given = json.dumps({"session_id": "one", "transcript_path": str(transcript)})
    loaded = modules_of(f"hook {event} --home {tmp_path}/home.db", given)
    with recollect.open(tmp_path / "home.db") as home:
        assert len(home.agent("default").conversations.list()) == 1
    assert third_party(loaded) == {"recollect", "apsw", "Stemmer"}
    assert late(loaded) == {f"recollect.{name}" for name in ("cli.hook_call", "cli.program", "memory", "wiring")}
    slow = {
        "asyncio",
        "difflib",
        "email",
        "http",
        "shutil",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
        "tomllib",
        "uuid",
    }
    assert loaded & slow == set()


def test_the_help_loads_no_command_and_nothing_that_they_call() -> None:
    loaded = modules_of("--help")
    assert third_party(loaded) == {"recollect", "annotated_doc", "shellingham", "typer"}
    assert late(loaded) == {"recollect.cli.app", "recollect.cli.program"}


def test_importing_the_package_loads_no_server_no_model_and_nothing_slow() -> None:
    loaded = loaded_by("import recollect; recollect.open")
    assert {"recollect", "apsw"} <= loaded
    assert loaded & (SLOW | SERVERS) == set()
    assert loaded_by("import recollect") & {"apsw", "dataclasses", "typing", "pathlib"} == set()


FRAMEWORKS = {"adapters.anthropic_memory": "anthropic-memory", "adapters.claude_agent": "claude-agent"}
FRAMEWORKS |= {"adapters.openai_agents": "openai-agents", "adapters.pydantic_ai": "pydantic-ai"}
FRAMEWORKS |= {"adapters.llama_index": "llama-index", "adapters.google_adk": "google-adk"}
FRAMEWORKS |= {"adapters.autogen": "autogen", "adapters.agent_framework": "agent-framework"}
FRAMEWORKS |= {"adapters.langchain": "langchain", "adapters.langgraph": "langgraph", "adapters.strands": "strands"}
FRAMEWORKS |= {"adapters.crewai": "crewai"}
"""Modules that import a framework, and the extra that installs it."""
PACKAGES = ["agent_framework", "agents", "anthropic", "autogen_core", "claude_agent_sdk", "google", "llama_index"]
PACKAGES += ["crewai", "langchain_core", "langgraph", "pydantic_ai", "strands"]


def test_importing_the_package_loads_no_adapter_and_no_framework() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, recollect; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    assert {name for name in done.stdout.split() if name.startswith("recollect.adapters")} == set()
    assert loaded_by("import recollect") & {"openai", *PACKAGES} == set()


def test_no_module_imports_an_adapter_of_a_framework() -> None:
    package = modules(PACKAGE)
    assert [name for name in package for one in imports(package, name) if one.ours and one.module in FRAMEWORKS] == []


@pytest.mark.parametrize("module", FRAMEWORKS)
def test_an_adapter_without_its_package_says_in_one_line_what_to_install(module: str) -> None:
    code = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES})); import recollect.{module}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(PACKAGE.parent)}
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the package ")
    assert last.endswith(f"pip install 'recollect[{FRAMEWORKS[module]}]'")


def test_the_asynchronous_side_is_loaded_only_when_it_is_asked_for() -> None:
    assert "asyncio" in loaded_by("import recollect.aio")
    assert loaded_by("import recollect.aio") & {"numpy", "psycopg", "typer", "pydantic"} == set()


def test_a_hook_that_a_running_process_handles_loads_nothing_of_the_memory() -> None:
    loaded = loaded_by("import recollect.cli")
    assert "json" in loaded
    own = {"apsw", "dataclasses", "typing", "pathlib", "inspect", "tomllib", "hashlib", "logging", "tempfile", "socket"}
    assert loaded & (SLOW | SERVERS | own) == set()


def test_every_public_name_is_imported_for_type_checkers_and_on_first_use() -> None:
    for_checkers = {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(modules(PACKAGE)["recollect"])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recollect.")
        for alias in node.names
    }
    on_first_use = {name: f"recollect.{module}" for name, module in recollect._DEFINED_IN.items()}
    assert for_checkers == {**on_first_use, "open": "recollect.wiring"}
    assert sorted(for_checkers) == sorted(recollect.__all__)
    assert set(recollect.__all__) <= set(dir(recollect))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        recollect.nothing  # type: ignore[attr-defined]  # noqa: B018
