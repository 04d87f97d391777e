-- What agent frameworks keep besides entries: vectors of their own embedders, and the checkpoints of their graphs.

-- Vectors of the fields of an entry, made by an embedder of the caller. They belong to the content with this hash.
CREATE TABLE item_vectors (
    agent TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    field TEXT NOT NULL,
    model TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (agent, entry_id, field)
) STRICT, WITHOUT ROWID;

-- `format` is that of the row, `hash` that of the serialised state.
CREATE TABLE graph_checkpoints (
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    run TEXT,
    format INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    type TEXT NOT NULL,
    state BLOB NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (agent, thread, namespace, id)
) STRICT;
CREATE INDEX graph_checkpoints_id ON graph_checkpoints (agent, id);
CREATE INDEX graph_checkpoints_run ON graph_checkpoints (agent, run) WHERE run IS NOT NULL;

CREATE TABLE graph_writes (
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    task TEXT NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    channel TEXT NOT NULL,
    type TEXT NOT NULL,
    value BLOB NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (agent, thread, namespace, checkpoint, task, number)
) STRICT;
