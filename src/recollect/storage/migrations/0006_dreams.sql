-- What dreaming has written where, and which conversations insights were taken from.

-- `state` is pending until MEMORY.md has the line, then done (as is a row without one); undone when the
-- promotion was reverted.
ALTER TABLE promotions ADD COLUMN state TEXT;
ALTER TABLE promotions ADD COLUMN hits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE promotions ADD COLUMN days INTEGER NOT NULL DEFAULT 0;

-- `hash` is that of the last event when the conversation was read, which stands for all before it; `seen` holds short
-- hashes of the insights that were found, so that none comes back after it was forgotten.
CREATE TABLE extracted (
    agent TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    seen TEXT NOT NULL,
    PRIMARY KEY (agent, conversation_id)
) STRICT, WITHOUT ROWID;
