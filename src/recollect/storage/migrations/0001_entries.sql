-- Entries, their names, the operation log, recall signals and the promotion ledger.
-- Written for SQLite; PostgreSQL's types and options are put in by storage/postgres/dialect.py.

-- One row per agent: the last numbers handed out. Writers lock it first, so numbers are dense and in commit order.
CREATE TABLE counters (
    agent TEXT NOT NULL,
    entries INTEGER NOT NULL,
    operations INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    flushed INTEGER NOT NULL,
    live INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    removals INTEGER NOT NULL,
    layout INTEGER NOT NULL,
    analysis INTEGER NOT NULL,
    PRIMARY KEY (agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    doc INTEGER NOT NULL,
    kind TEXT NOT NULL,
    category TEXT,
    scope TEXT NOT NULL,
    lifetime TEXT NOT NULL,
    content TEXT NOT NULL,
    context TEXT,
    tags TEXT NOT NULL,
    concept_tags TEXT NOT NULL,
    importance REAL NOT NULL,
    source TEXT NOT NULL,
    conversation_id TEXT,
    channel_id TEXT,
    first_event INTEGER,
    last_event INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    accessed_at INTEGER,
    access_count INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    vault_id INTEGER,
    PRIMARY KEY (agent, id)
) STRICT;
CREATE UNIQUE INDEX entries_doc ON entries (agent, doc);
CREATE INDEX entries_created ON entries (agent, created_at DESC, id DESC);
CREATE INDEX entries_category ON entries (agent, category, created_at DESC) WHERE category IS NOT NULL;

CREATE TABLE names (
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    canonical INTEGER NOT NULL,
    PRIMARY KEY (agent, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_entry ON names (agent, entry_id);

CREATE TABLE operations (
    agent TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    operation TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    before TEXT,
    after TEXT,
    PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX operations_entry ON operations (agent, entry_id, seq);
CREATE INDEX operations_removed ON operations (agent, seq) WHERE operation = 'remove';

CREATE TABLE recall_events (
    agent TEXT NOT NULL,
    id INTEGER NOT NULL,
    entry_id TEXT NOT NULL,
    query TEXT NOT NULL,
    score REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX recall_events_entry ON recall_events (agent, entry_id, at);

CREATE TABLE promotions (
    agent TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    promoted_at INTEGER NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (agent, entry_id, phase)
) STRICT, WITHOUT ROWID;

-- Every read of another agent's memory, in the rows of the agent that read.
CREATE TABLE access_log (
    agent TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    target_agent TEXT NOT NULL,
    call TEXT NOT NULL,
    query TEXT NOT NULL,
    PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;
