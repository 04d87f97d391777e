-- Who may use a home from outside, answers to requests that may come twice, and lists in more orders.
-- Tokens and requests belong to the home: they are rows of the agent `_shared` of the account.

-- `hash` is the SHA-256 of the secret, which is stored nowhere.
CREATE TABLE tokens (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    workspace TEXT NOT NULL,
    agents TEXT NOT NULL,
    rights TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tokens_hash ON tokens (agent, hash);
CREATE UNIQUE INDEX tokens_name ON tokens (agent, name) WHERE revoked_at IS NULL;

-- Without a status a request is under way, or its end is not known. Without a body the answer was too long to keep.
CREATE TABLE requests (
    agent TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status INTEGER,
    body TEXT,
    headers TEXT,
    PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_created ON requests (agent, created_at);

-- Ascending, although lists show the newest first: new entries come at the end then, where a page is filled and left
-- alone, and both databases walk an index backwards as well.
CREATE INDEX entries_updated ON entries (agent, updated_at, id);
DROP INDEX entries_created;
CREATE INDEX entries_created ON entries (agent, created_at, id);
