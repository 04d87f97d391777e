-- The inverted index: a tail of fresh documents, and immutable segments of up to 65,536 documents.
-- search/index.py tells how they work together.

CREATE TABLE tail (
    agent TEXT NOT NULL,
    doc INTEGER NOT NULL,
    terms TEXT NOT NULL,
    PRIMARY KEY (agent, doc)
) STRICT, WITHOUT ROWID;

CREATE TABLE segments (
    agent TEXT NOT NULL,
    segment INTEGER NOT NULL,
    level INTEGER NOT NULL,
    first INTEGER NOT NULL,
    size INTEGER NOT NULL,
    lengths BLOB NOT NULL,
    PRIMARY KEY (agent, segment)
) STRICT;

CREATE TABLE postings (
    agent TEXT NOT NULL,
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (agent, segment, term)
) STRICT, WITHOUT ROWID;

-- Postings are dense already: trying to compress them costs time and gains nothing.
-- postgres: ALTER TABLE postings ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE removals (
    agent TEXT NOT NULL,
    number INTEGER NOT NULL,
    doc INTEGER NOT NULL,
    entry_id TEXT NOT NULL,
    terms TEXT NOT NULL,
    PRIMARY KEY (agent, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX removals_entry ON removals (agent, entry_id);
