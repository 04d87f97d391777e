-- Vectors are made from the name and the content of a note. `stale` marks one that was made from an earlier text: it is
-- searched until another one replaces it. Up to here vectors were made from the content alone.
ALTER TABLE embeddings ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;
UPDATE embeddings SET stale = 1
WHERE entry_id IN (SELECT entry_id FROM names WHERE canonical = 1)
    AND entry_id IN (SELECT id FROM entries WHERE kind = 'note');
CREATE INDEX embeddings_stale ON embeddings (agent, model, dim, entry_id) WHERE stale = 1;
