-- Channels, conversations, the journal of their events, and the index of what was said in them.
-- Channels belong to the workspace: they are rows of its agent `_shared`.

CREATE TABLE channels (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    description TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversations (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    ref_code TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    chat_id TEXT,
    model_id TEXT,
    participants TEXT NOT NULL,
    closing_summary TEXT,
    summary_by TEXT,
    ending TEXT NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT;
CREATE UNIQUE INDEX conversations_ref ON conversations (agent, ref_code);
CREATE INDEX conversations_status ON conversations (agent, status, started_at DESC, id DESC);

CREATE INDEX conversations_ended ON conversations (agent, ended_at DESC, id DESC)
    WHERE status <> 'active' AND ending <> '["long_term"]';
CREATE INDEX entries_conversation ON entries (agent, conversation_id) WHERE conversation_id IS NOT NULL;

-- One row per agent: the last numbers of its journal. Who appends locks it first.
CREATE TABLE journals (
    agent TEXT NOT NULL,
    events INTEGER NOT NULL,
    flushed INTEGER NOT NULL,
    live INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    layout INTEGER NOT NULL,
    analysis INTEGER NOT NULL,
    PRIMARY KEY (agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    agent TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    type TEXT NOT NULL,
    tool_call_id TEXT,
    hash TEXT NOT NULL,
    previous TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    content TEXT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (agent, conversation_id, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX events_seq ON events (agent, seq);
-- For the window of a lane that says little beside one that says much.
CREATE INDEX events_lane ON events (agent, conversation_id, lane, seq);

-- Where the window of a lane begins, and the summary document of what came before.
CREATE TABLE lanes (
    agent TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    marker INTEGER NOT NULL,
    boundary INTEGER NOT NULL,
    kept TEXT NOT NULL,
    document TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent, conversation_id, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE scratchpads (
    agent TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent, conversation_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
    agent TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    upto INTEGER NOT NULL,
    documents TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (agent, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX checkpoints_saved ON checkpoints (agent, saved_at);

-- The same as segments and postings, with events in the place of entries. The journal itself is the tail, and
-- `lengths` holds a record of each event: its length, and what ranking needs to know of it.
CREATE TABLE turn_segments (
    agent TEXT NOT NULL,
    segment INTEGER NOT NULL,
    level INTEGER NOT NULL,
    first INTEGER NOT NULL,
    size INTEGER NOT NULL,
    lengths BLOB NOT NULL,
    PRIMARY KEY (agent, segment)
) STRICT;

CREATE TABLE turn_postings (
    agent TEXT NOT NULL,
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (agent, segment, term)
) STRICT, WITHOUT ROWID;
-- postgres: ALTER TABLE turn_postings ALTER COLUMN data SET STORAGE EXTERNAL;
