-- Sorted lists of entries after a cursor; each sort order except importance has an index.

-- part: wanted
AND {entry_filters}
    AND (CAST(:channel AS TEXT) IS NULL OR channel_id = :channel)
    AND (CAST(:conversation AS TEXT) IS NULL OR conversation_id = :conversation)
    AND (CAST(:tag AS TEXT) IS NULL OR replace(tags, CAST(:tag AS TEXT), '') <> tags)

-- name: created_down
SELECT id FROM entries
WHERE agent = :agent AND (created_at, id) < (:key, :id)
    {wanted}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: created_up
SELECT id FROM entries
WHERE agent = :agent AND (created_at, id) > (:key, :id)
    {wanted}
ORDER BY created_at, id LIMIT :limit

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

-- name: unnamed
SELECT id FROM entries
WHERE agent = :agent AND id > :id
    AND NOT EXISTS (
        SELECT 1 FROM names WHERE names.agent = :agent AND names.canonical = 1 AND names.name IN (
            SELECT own.name FROM names AS own WHERE own.agent = :agent AND own.entry_id = entries.id
        )
    )
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
    )
ORDER BY seq DESC LIMIT :limit

-- name: numbers
SELECT id, vault_id, created_at FROM entries WHERE agent = :agent AND category = :category AND kind = 'note'
    AND closed_at IS NULL
ORDER BY seq
