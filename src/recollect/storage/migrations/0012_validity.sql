-- Validity and origin: when a statement holds, what replaced it, who said it, and what it was made from.

-- The time in which the statement holds; NULL has no limit. `created_at` remains the time at which it was learnt.
ALTER TABLE entries ADD COLUMN valid_from INTEGER;
ALTER TABLE entries ADD COLUMN valid_until INTEGER;

-- 1 if the validity was read from the text, 0 if the author set it.
ALTER TABLE entries ADD COLUMN validity_inferred INTEGER NOT NULL DEFAULT 0;

-- The entry that replaced this one, and the time at which it was superseded or retracted.
ALTER TABLE entries ADD COLUMN superseded_by TEXT;
ALTER TABLE entries ADD COLUMN closed_at INTEGER;

-- user, agent, tool or external.
ALTER TABLE entries ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
UPDATE entries SET origin = 'user' WHERE source = 'user';

-- A JSON list of the ids of events, entries, files or imports that the entry was made from.
ALTER TABLE entries ADD COLUMN evidence TEXT NOT NULL DEFAULT '[]';

CREATE INDEX entries_superseded ON entries (agent, superseded_by) WHERE superseded_by IS NOT NULL;

-- Pairs of entries that may contradict, update or repeat each other. A pair stays when it is resolved, so that it is
-- not found again.
CREATE TABLE reviews (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    older_id TEXT NOT NULL,
    newer_id TEXT NOT NULL,
    relation TEXT NOT NULL,
    reason TEXT NOT NULL,
    found_at INTEGER NOT NULL,
    resolved_at INTEGER,
    resolution TEXT,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reviews_pair ON reviews (agent, older_id, newer_id);
CREATE INDEX reviews_newer ON reviews (agent, newer_id);

-- The operation up to which the job `review` has compared entries, and when.
CREATE TABLE review_progress (
    agent TEXT NOT NULL PRIMARY KEY,
    operation INTEGER NOT NULL,
    reviewed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
