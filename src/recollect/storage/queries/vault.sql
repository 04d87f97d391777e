-- name: state
SELECT stat, operations, blocks, doubt FROM vault_files
WHERE agent = :agent AND vault = :vault AND category = :category

-- name: save
INSERT INTO vault_files (agent, vault, category, stat, operations, blocks, doubt)
VALUES (:agent, :vault, :category, :stat, :operations, :blocks, :doubt)
ON CONFLICT (agent, vault, category) DO UPDATE SET stat = excluded.stat, operations = excluded.operations,
    blocks = excluded.blocks, doubt = excluded.doubt

-- name: members
SELECT id, vault_id, created_at, content, tags FROM entries
WHERE agent = :agent AND category = :category AND kind = 'note' AND scope IN ('channel', 'workspace')
    AND closed_at IS NULL

-- name: numbered
SELECT id, category FROM entries WHERE agent = :agent AND vault_id = :number

-- name: numbers_from
SELECT DISTINCT vault_id FROM entries WHERE agent = :agent AND vault_id IS NOT NULL AND vault_id >= :number
ORDER BY vault_id LIMIT :limit

-- name: number
UPDATE entries SET vault_id = :number WHERE agent = :agent AND id = :id

-- name: removed
SELECT entry_id FROM operations
WHERE agent = :agent AND operation = 'remove' AND replace(before, :needle, '') <> before
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
            AND later.operation <> 'new'
    )
ORDER BY seq DESC LIMIT 1

-- name: notes
SELECT id, content, tags, category, importance, valid_from, valid_until FROM entries
WHERE agent = :agent AND kind = 'note' AND scope IN ('channel', 'workspace') AND closed_at IS NULL

-- name: names
SELECT entry_id, name, canonical FROM names WHERE agent = :agent

-- name: note_files
SELECT entry_id, path, stem, stat, file, entry, names FROM vault_notes WHERE agent = :agent AND vault = :vault

-- name: save_note
INSERT INTO vault_notes (agent, vault, entry_id, path, stem, stat, file, entry, names)
VALUES (:agent, :vault, :entry_id, :path, :stem, :stat, :file, :entry, :names)
ON CONFLICT (agent, vault, entry_id) DO UPDATE SET path = excluded.path, stem = excluded.stem, stat = excluded.stat,
    file = excluded.file, entry = excluded.entry, names = excluded.names

-- name: forget_note
DELETE FROM vault_notes WHERE agent = :agent AND vault = :vault AND entry_id = :entry_id

-- name: front_matter
UPDATE entries SET front_matter = :front_matter WHERE agent = :agent AND id = :id

-- name: forget_notes
DELETE FROM vault_notes WHERE agent = :agent AND vault = :vault
