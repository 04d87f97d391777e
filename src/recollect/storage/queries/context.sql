-- The newest entries of a category in the given scopes; with a needle, only those whose content contains it. The
-- sort expression avoids the index over all entries, which SQLite would otherwise scan until the limit is reached.
-- name: newest
SELECT id, content, created_at, source, origin FROM entries
WHERE agent = :agent AND category = :category AND origin IN (:origins*)
    AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > :now)
    AND scope IN (:scopes*)
    AND (scope <> 'conversation' OR conversation_id = CAST(:conversation AS TEXT))
    AND (scope <> 'channel' OR channel_id = CAST(:channel AS TEXT))
    AND (CAST(:needle AS TEXT) IS NULL OR replace(content, CAST(:needle AS TEXT), '') <> content)
ORDER BY created_at DESC, id || '' DESC LIMIT :limit

-- Hand-offs, newest first; those that upkeep made from a part of a conversation, or from older hand-offs, come last.
-- name: handoffs
SELECT id, content, created_at, source, origin FROM entries
WHERE agent = :agent AND category = 'handoffs' AND scope = 'workspace' AND origin IN (:origins*)
ORDER BY CASE WHEN replace(tags, '"compacted"', '') = tags THEN 0 ELSE 1 END,
    CASE WHEN origin = 'external' THEN 1 ELSE 0 END, created_at DESC, id || '' DESC LIMIT 1

-- Tasks without a checkbox: they are open as long as the entry exists.
-- name: unboxed
SELECT id, content, created_at, source, origin FROM entries
WHERE agent = :agent AND category = 'tasks' AND kind = 'note' AND source <> 'shelve' AND origin IN (:origins*)
    AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > :now)
    AND scope IN (:scopes*)
    AND (scope <> 'conversation' OR conversation_id = CAST(:conversation AS TEXT))
    AND (scope <> 'channel' OR channel_id = CAST(:channel AS TEXT))
    AND replace(replace(replace(content, '[ ]', ''), '[x]', ''), '[X]', '') = content
ORDER BY created_at DESC, id || '' DESC LIMIT :limit

-- The newest notes without a category in the given scopes, among the newest entries: there is no index over scopes.
-- name: notes
SELECT id, content, created_at, source, origin FROM entries
WHERE agent = :agent AND id IN (
    SELECT id FROM (
        SELECT id, category, kind, scope, conversation_id, channel_id, origin FROM entries
        WHERE agent = :agent AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > :now)
        ORDER BY created_at DESC, seq DESC LIMIT :among
    ) AS newest
    WHERE category IS NULL AND kind = 'note' AND origin IN (:origins*)
        AND scope IN (:scopes*)
        AND (scope <> 'conversation' OR conversation_id = CAST(:conversation AS TEXT))
        AND (scope <> 'channel' OR channel_id = CAST(:channel AS TEXT))
)
ORDER BY created_at DESC, seq DESC LIMIT :limit

-- Notes that contain a phrase in any case, newest first, among the newest entries: an index has no stop words.
-- name: phrase
SELECT id, content, created_at, source, origin FROM entries
WHERE agent = :agent AND id IN (
    SELECT id FROM (
        SELECT id, content, category, kind, scope, conversation_id, channel_id, origin FROM entries
        WHERE agent = :agent AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > :now)
        ORDER BY created_at DESC, seq DESC LIMIT :among
    ) AS newest
    WHERE kind = 'note' AND (category IS NULL OR category IN ('decisions', 'lessons')) AND origin IN (:origins*)
        AND replace(lower(content), :needle, '') <> lower(content)
        AND scope IN (:scopes*)
        AND (scope <> 'conversation' OR conversation_id = CAST(:conversation AS TEXT))
        AND (scope <> 'channel' OR channel_id = CAST(:channel AS TEXT))
)
ORDER BY created_at DESC, seq DESC LIMIT :limit
