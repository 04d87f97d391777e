-- Sorted lists of entries after a cursor; each sort order except importance has an index.

-- part: wanted
AND {entry_filters}
    AND (CAST(:channel AS TEXT) IS NULL OR channel_id = :channel)
    AND (CAST(:conversation AS TEXT) IS NULL OR conversation_id = :conversation)
    AND (CAST(:tag AS TEXT) IS NULL OR replace(tags, CAST(:tag AS TEXT), '') <> tags)
    AND (CAST(:recalled AS INTEGER) IS NULL OR (access_count > 0) = (CAST(:recalled AS INTEGER) = 1))
    AND (CAST(:embedded AS INTEGER) IS NULL OR CASE WHEN EXISTS (
        SELECT 1 FROM embeddings WHERE embeddings.agent = :agent AND embeddings.entry_id = entries.id
    ) THEN 1 WHEN scope = 'account' OR (kind = 'chunk' AND lifetime = 'long_term') THEN 2 ELSE 0 END = :embedded)

-- name: count
SELECT count(*) FROM (SELECT 1 FROM entries WHERE agent = :agent {wanted} LIMIT :limit) AS found

-- name: created_down
SELECT id FROM entries
WHERE agent = :agent AND (created_at, seq, id) < (:key, :seq, :id)
    {wanted}
ORDER BY created_at DESC, seq DESC LIMIT :limit

-- name: created_up
SELECT id FROM entries
WHERE agent = :agent AND (created_at, seq, id) > (:key, :seq, :id)
    {wanted}
ORDER BY created_at, seq LIMIT :limit

-- name: updated_down
SELECT id FROM entries
WHERE agent = :agent AND (updated_at, id) < (:key, :id)
    {wanted}
ORDER BY updated_at DESC, id DESC LIMIT :limit

-- name: updated_up
SELECT id FROM entries
WHERE agent = :agent AND (updated_at, id) > (:key, :id)
    {wanted}
ORDER BY updated_at, id LIMIT :limit

-- name: importance_down
SELECT id FROM entries
WHERE agent = :agent AND (importance, id) < (:key, :id)
    {wanted}
ORDER BY importance DESC, id DESC LIMIT :limit

-- name: importance_up
SELECT id FROM entries
WHERE agent = :agent AND (importance, id) > (:key, :id)
    {wanted}
ORDER BY importance, id LIMIT :limit

-- Entries that were never recalled are not in this list, nor in its index.
-- name: recalls_down
SELECT id FROM entries
WHERE agent = :agent AND access_count > 0 AND (access_count, id) < (:key, :id)
    {wanted}
ORDER BY access_count DESC, id DESC LIMIT :limit

-- name: recalls_up
SELECT id FROM entries
WHERE agent = :agent AND access_count > 0 AND (access_count, id) > (:key, :id)
    {wanted}
ORDER BY access_count, id LIMIT :limit

-- Entries without a name follow those with one: see `unnamed` below.
-- name: name_down
SELECT entries.id FROM names CROSS JOIN entries
WHERE names.agent = :agent AND names.name < :key AND names.canonical = 1
    AND entries.agent = :agent AND entries.id = names.entry_id
    {wanted}
ORDER BY names.name DESC LIMIT :limit

-- name: name_up
SELECT entries.id FROM names CROSS JOIN entries
WHERE names.agent = :agent AND names.name > :key AND names.canonical = 1
    AND entries.agent = :agent AND entries.id = names.entry_id
    {wanted}
ORDER BY names.name LIMIT :limit

-- Counts, because PostgreSQL would turn NOT EXISTS into a join that compares all names with each entry.
-- name: unnamed
SELECT id FROM entries
WHERE agent = :agent AND id > :id
    AND (
        SELECT count(*) FROM names WHERE names.agent = :agent AND names.canonical = 1 AND names.name IN (
            SELECT own.name FROM names AS own WHERE own.agent = :agent AND own.entry_id = entries.id
        )
    ) = 0
    {wanted}
ORDER BY id LIMIT :limit

-- In two steps, because SQLite would otherwise scan the whole log.
-- name: trash
SELECT seq, at, entry_id, before FROM operations
WHERE agent = :agent AND before IS NOT NULL
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND operation = 'remove' AND seq < :seq)
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
            AND later.operation <> 'new'
    )
ORDER BY seq DESC LIMIT :limit

-- name: numbers
SELECT id, vault_id, created_at FROM entries WHERE agent = :agent AND category = :category AND kind = 'note'
    AND closed_at IS NULL
ORDER BY seq
