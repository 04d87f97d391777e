-- The newest entries of a category that all of the workspace sees; with a needle only those whose text holds it. The
-- order is not that of the index over all entries, which SQLite would else go through until it has seen enough.
-- name: newest
SELECT id, content, tags, created_at, source FROM entries
WHERE agent = :agent AND category = :category AND scope = 'workspace'
    AND (CAST(:needle AS TEXT) IS NULL OR replace(content, CAST(:needle AS TEXT), '') <> content)
ORDER BY created_at DESC, id || '' DESC LIMIT :limit

-- Hand-offs, the newest first; those that upkeep made of a part of a conversation, or of older ones, come last.
-- name: handoffs
SELECT id, content, tags, created_at, source FROM entries
WHERE agent = :agent AND category = 'handoffs' AND scope = 'workspace'
ORDER BY CASE WHEN replace(tags, '"compacted"', '') = tags THEN 0 ELSE 1 END, created_at DESC, id || '' DESC LIMIT 1

-- Tasks that somebody wrote without a box, so that they are as open as they are there.
-- name: unboxed
SELECT id, content, tags, created_at, source FROM entries
WHERE agent = :agent AND category = 'tasks' AND scope = 'workspace' AND kind = 'note' AND source <> 'shelve'
    AND replace(replace(replace(content, '[ ]', ''), '[x]', ''), '[X]', '') = content
ORDER BY created_at DESC, id || '' DESC LIMIT :limit
