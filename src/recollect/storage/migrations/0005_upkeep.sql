-- Background work: when each job runs, what each run did to which entry, and reminders.
-- Jobs and their runs belong to the workspace: they are rows of its agent `_shared`.

CREATE TABLE jobs (
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    next_due_at INTEGER NOT NULL,
    last_run_at INTEGER,
    duration INTEGER,
    failures INTEGER NOT NULL,
    error TEXT,
    figures TEXT NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    PRIMARY KEY (agent, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_runs (
    agent TEXT NOT NULL,
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    figures TEXT NOT NULL,
    error TEXT,
    undone_at INTEGER,
    PRIMARY KEY (agent, run)
) STRICT, WITHOUT ROWID;

-- In the rows of the agent whose entries were changed, written together with the change.
CREATE TABLE job_changes (
    agent TEXT NOT NULL,
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    what TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    label TEXT NOT NULL,
    reason TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    PRIMARY KEY (agent, run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE reminders (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    plugin TEXT,
    recipient TEXT,
    message TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    claimed_at INTEGER,
    claim TEXT,
    delivered_at INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT;
CREATE INDEX reminders_due ON reminders (agent, delivered_at, due_at);
