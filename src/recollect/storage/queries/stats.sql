-- Counts over all rows of an agent; run occasionally, never on the hot path of a read or a write.

-- name: conversation_count
SELECT count(*) FROM conversations WHERE agent = :agent

-- name: last_operation_at
SELECT at FROM operations WHERE agent = :agent ORDER BY seq DESC LIMIT 1

-- name: last_event_at
SELECT created_at FROM events WHERE agent = :agent ORDER BY seq DESC LIMIT 1

-- name: entries
SELECT kind, category, lifetime, scope, source, count(*) FROM entries WHERE agent = :agent
GROUP BY kind, category, lifetime, scope, source

-- name: conversations
SELECT status, count(*) FROM conversations WHERE agent = :agent GROUP BY status

-- name: reminders
SELECT count(*) FROM reminders WHERE agent = :agent AND delivered_at IS NULL

-- name: vectors
SELECT count(*) FROM embeddings WHERE agent = :agent

-- name: trash
SELECT count(*) FROM operations
WHERE agent = :agent AND before IS NOT NULL
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND operation = 'remove')
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
            AND later.operation <> 'new'
    )

-- name: entries_by_day
SELECT created_at / 86400000, count(*) FROM entries
WHERE agent = :agent AND created_at >= :since AND created_at < :until GROUP BY created_at / 86400000

-- name: events_by_day
SELECT created_at / 86400000, count(*) FROM events
WHERE agent = :agent AND created_at >= :since AND created_at < :until GROUP BY created_at / 86400000

-- name: recalls_by_day
SELECT at / 86400000, count(*) FROM recall_events
WHERE agent = :agent AND at >= :since AND at < :until GROUP BY at / 86400000
