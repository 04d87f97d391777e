-- Vectors: one per entry, and packs of those that are no longer searched one by one, a byte per number.
-- search/vectors.py tells how they work together.

ALTER TABLE counters ADD COLUMN vectors INTEGER NOT NULL DEFAULT 0;

CREATE TABLE embeddings (
    agent TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    model TEXT NOT NULL,
    dim INTEGER NOT NULL,
    vector VECTOR NOT NULL,
    PRIMARY KEY (agent, entry_id)
) STRICT;
CREATE INDEX embeddings_number ON embeddings (agent, model, dim, number);

-- The number of a pack is that of the last vector in it.
CREATE TABLE codes (
    agent TEXT NOT NULL,
    pack INTEGER NOT NULL,
    model TEXT NOT NULL,
    dim INTEGER NOT NULL,
    numbers BLOB NOT NULL,
    codes BLOB NOT NULL,
    PRIMARY KEY (agent, pack)
) STRICT;
