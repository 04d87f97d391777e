-- Notes and conversations by time. Raw pieces of conversations (archives, chunks and automatic hand-offs) are left out.

-- name: first_note
SELECT created_at FROM entries WHERE agent = :agent AND kind = 'note' ORDER BY created_at, seq LIMIT 1

-- name: last_note
SELECT created_at FROM entries WHERE agent = :agent AND kind = 'note' ORDER BY created_at DESC, seq DESC LIMIT 1

-- name: conversation_times
SELECT min(started_at), max(started_at) FROM conversations WHERE agent = :agent

-- part: written
kind = 'note' AND replace(tags, '"auto-handoff"', '') = tags

-- name: note_buckets
SELECT (created_at - :since) / :width, count(*) FROM entries
WHERE agent = :agent AND {written} AND created_at >= :since AND created_at < :until GROUP BY 1

-- name: conversation_buckets
SELECT (started_at - :since) / :width, count(*) FROM conversations
WHERE agent = :agent AND started_at >= :since AND started_at < :until GROUP BY 1

-- part: note
SELECT id, substr(content, 1, 200), created_at, valid_from, valid_until, category, superseded_by
FROM entries

-- name: notes
{note} WHERE agent = :agent AND {written} AND created_at >= :since AND created_at < :until
ORDER BY created_at, seq LIMIT :limit

-- Notes that were written before or after a span of time, and hold in it.
-- name: holding
{note} WHERE agent = :agent AND {written} AND (created_at < :since OR created_at >= :until)
    AND valid_until > :since AND COALESCE(valid_from, created_at) < :until
ORDER BY created_at DESC, seq DESC LIMIT :limit

-- name: conversations
SELECT id FROM conversations WHERE agent = :agent AND started_at >= :since AND started_at < :until
ORDER BY started_at, id LIMIT :limit
