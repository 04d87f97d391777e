"""Every place in the package that opens a file, and what it opens. Files under a vault are opened by one module."""

import ast
from collections.abc import Iterator

from architecture.test_imports import PACKAGE, modules

OPENING = {
    "open",
    "fdopen",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "copyfile",
    "copytree",
    "mkstemp",
    "NamedTemporaryFile",
    "FileIO",
    "memmap",
}
"""Names of functions and methods that open a file or make one."""

VAULT = {"vault.files": "every file under a vault, for reading and for writing"}
OTHERS = {
    "cli.hook_process": "the null device",
    "cli.streams": "the null device",
    "cli.config_files": "configuration files of other programs",
    "cli.connect": "configuration files of other programs",
    "cli.default_home": "which homes are connected",
    "cli.doctor": "configuration files of other programs",
    "cli.evaluate": "the questions that a user names",
    "cli.fill": "a file of the package",
    "cli.transcripts": "the transcript that a hook names",
    "cli.transfer": "the file that an export or import names",
    "compat.graph_file": "the file of the MCP memory server",
    "config": "the settings",
    "providers.base": "a file of the package",
    "providers.http": "an address",
    "providers.onnx": "the model of a folder that the settings name",
    "providers.local": "a file of an installed package",
    "rest.process_memory": "what the system says about this process",
    "rest.transfer": "an upload or download in a temporary folder",
    "storage.named_queries": "files of the package",
    "storage.schema": "files of the package",
    "storage.files": "databases and their folders",
    "storage.postgres.server": "a pool of connections",
    "storage.sqlite.encryption": "the key file",
    "storage.sqlite.administration": "the database file, to look for erased text",
    "transfer.archive": "the file that an export or import names",
    "transfer.copying": "the copies that a backup makes",
    "transfer.unpacking": "a zip that an import names, and the temporary folder that it is unpacked to",
    "ui.pages": "files of the package",
}
"""Modules that open other files. A module that is new here must not open what is under a vault by itself."""


def opening(tree: ast.Module) -> Iterator[int]:
    """The lines that open a file; functions of `vault.files` that a module imports do not count."""
    ours = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "recollect.vault.files"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name not in OPENING:
                continue
            owner = ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""
            if owner not in ("recollect", "aio") and not (not owner and name in ours):
                yield node.lineno


def test_only_one_module_opens_files_under_a_vault() -> None:
    found = {name: list(opening(tree)) for name, tree in modules(PACKAGE).items()}
    assert {name for name, lines in found.items() if lines} == VAULT.keys() | OTHERS.keys()


def test_the_list_notices_a_new_place() -> None:
    for line in ("open(p)", "p.read_text()", "os.open(p, 0)", "with p.open() as f: pass", "shutil.copytree(a, b)"):
        assert list(opening(ast.parse(line))) == [1], line
    assert not list(opening(ast.parse("from recollect.vault.files import read_bytes\nread_bytes(a, b)")))
