-- Entries that take less space. An older recollect could not read them.

-- The content of an entry is stored once. Its addition is logged as `new`, without what the entry has, until the content
-- changes or the entry is removed: then the row is written out and becomes an `add`. `added` is the number of that row, by
-- which it is found. Older rows of the log stay as they are.
ALTER TABLE entries ADD COLUMN added INTEGER;
DROP INDEX operations_entry;
CREATE INDEX operations_entry ON operations (agent, entry_id, seq, operation) WHERE operation <> 'new';

-- The first 64 bits of the hash of a content are enough to detect damage. Concept tags are places in the content, see
-- storage/tag_places.py; those of older rows stay as they are.
UPDATE entries SET content_hash = substr(content_hash, 1, 16);

-- Entries of the same millisecond are listed in the order of their sequence numbers, which take less space than their ids.
DROP INDEX entries_created;
CREATE INDEX entries_created ON entries (agent, created_at, seq);
