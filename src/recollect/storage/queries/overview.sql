-- Counts for an overview; each stops at a limit or reads an index.

-- name: due
SELECT count(*) FROM (
    SELECT 1 FROM reminders WHERE agent = :agent AND delivered_at IS NULL AND due_at <= :now LIMIT :limit
) AS found

-- name: conversations
SELECT count(*) FROM (SELECT 1 FROM conversations WHERE agent = :agent LIMIT :limit) AS found

-- name: open_pairs
SELECT count(*) FROM (
    SELECT 1 FROM reviews
    WHERE agent = :agent AND resolved_at IS NULL
        AND 2 = (
            SELECT count(*) FROM entries
            WHERE entries.agent = :agent AND entries.id IN (reviews.older_id, reviews.newer_id)
                AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > CAST(:now AS BIGINT))
        )
    LIMIT :limit
) AS found

-- name: entries_by_day
SELECT (created_at + CAST(:shift AS BIGINT)) / 86400000, count(*) FROM entries
WHERE agent = :agent AND created_at >= :since GROUP BY (created_at + CAST(:shift AS BIGINT)) / 86400000

-- Vectors are made in the order of writing, so the last entries are those that may lack one.
-- name: vectors_missing
SELECT count(*) FROM (
    SELECT id, scope, kind, lifetime FROM entries WHERE agent = :agent AND doc > 0 ORDER BY doc DESC LIMIT :limit
) AS written
WHERE scope <> 'account' AND NOT (kind = 'chunk' AND lifetime = 'long_term') AND NOT EXISTS (
    SELECT 1 FROM embeddings WHERE embeddings.agent = :agent AND embeddings.entry_id = written.id
)
