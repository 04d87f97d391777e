"""The table of commands: the module of each one, and its line in `recollect --help`.

Importing all command modules takes longer than running a command, so each command imports only its own, and the help
none. A test compares the table with the modules.
"""

from collections.abc import Mapping

__all__ = ["COMMANDS"]

COMMANDS: Mapping[str, tuple[str, str]] = {
    "remember": ("memory", "Store a note."),
    "recall": ("memory", "Search entries, best match first."),
    "forget": ("memory", "Move an entry to the trash, or erase it."),
    "context": (
        "context",
        "Print the context of a new session: project, last hand-off, open tasks, rules, and what answers the command.",
    ),
    "project": ("context", "Show or set the project description, with which every context begins."),
    "evaluate": ("evaluate", "Report how often the context of a question contains what its answer needs."),
    "note": ("note", "Add, change, list and restore notes."),
    "conversation": ("conversation", "Start, read, search and end conversations."),
    "channel": ("channel", "List and create channels, the topics of a workspace."),
    "scratchpad": ("scratchpad", "Read and write the temporary values of a conversation."),
    "reminder": ("reminder", "Add, list, claim and cancel reminders."),
    "review": ("review", "List and resolve notes that contradict, update or repeat each other."),
    "jobs": ("jobs", "Run, list and undo background jobs."),
    "workspace": ("workspace", "List and delete workspaces, the projects of a home."),
    "check": ("home", "Verify the files, entries, names, log and index of all agents."),
    "backup": ("home", "Copy a home to a new path while it is in use."),
    "reembed": ("home", "Compute missing and outdated vectors with the configured embedder."),
    "compact": ("home", "Run five cleanup steps: checkpoints, extract, shelve, reindex, and files of older layouts."),
    "encrypt": ("encryption", "Encrypt the files of a SQLite home with the key of the settings, or change the key."),
    "decrypt": ("encryption", "Decrypt the files of a SQLite home."),
    "stats": ("stats", "Show counts and charts: entries, growth and recalls."),
    "doctor": ("doctor", "Run health checks, one line each, with the fix."),
    "vault": ("vault", "Sync notes with markdown files that people and agents edit."),
    "export": ("transfer", "Export all data to one file while the home is in use."),
    "import": ("transfer", "Import an export of recollect, or data of another system."),
    "move": ("transfer", "Copy a home to another location, from SQLite to PostgreSQL or back."),
    "token": ("token", "Create, list and revoke access tokens for the server."),
    "serve": ("serve", "Serve the memory over HTTP: REST, MCP and a web page."),
    "mcp": ("mcp", "Serve MCP on stdin and stdout until stdin is closed."),
    "connect": (
        "connect",
        "Configure an MCP client to start recollect as a server, and Claude Code, Codex and Cursor also to call hooks.",
    ),
    "hook": ("hook", "Handle a hook of Claude Code, Codex or Cursor, whose JSON is read from stdin."),
    "demo": ("demo", "Run a short demonstration in a temporary file, or fill a memory with example data."),
}
"""For each command or group of commands the module of this package, and the short help; in the order of the help."""
