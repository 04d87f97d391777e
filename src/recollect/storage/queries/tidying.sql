-- name: checkpoints
SELECT conversation_id, documents, saved_at FROM checkpoints
WHERE agent = :agent AND conversation_id > :after ORDER BY conversation_id LIMIT :limit

-- name: drop_checkpoints
DELETE FROM checkpoints WHERE agent = :agent AND conversation_id IN (:ids*)

-- name: old_signals
DELETE FROM recall_events WHERE agent = :agent AND id IN (
    SELECT id FROM recall_events WHERE agent = :agent AND at < :before ORDER BY id LIMIT :limit
)

-- Entries with conversation scope whose conversation is not active or does not exist: the clearing at its end has
-- already run, or will never run. Excludes entries written or read since `before`, and those restored from the trash.
-- name: left_over
SELECT id FROM entries
WHERE agent = :agent AND scope = 'conversation' AND id > :after AND id < :written AND updated_at < :before
    AND COALESCE(accessed_at, 0) < :before
    AND NOT EXISTS (
        SELECT 1 FROM conversations WHERE conversations.agent = :agent AND conversations.id = entries.conversation_id
            AND status = 'active'
    )
    AND (
        SELECT count(*) FROM operations
        WHERE operations.agent = :agent AND operation = 'remove' AND seq IN (
            SELECT own.seq FROM operations AS own
            WHERE own.agent = :agent AND own.entry_id = entries.id AND own.operation <> 'new'
        )
    ) = 0
ORDER BY entries.id LIMIT :limit

-- Entries in the trash, except those that a job removed. If an agent has the name of a job, its removals never expire.
-- In two steps, because SQLite would otherwise scan the whole log.
-- name: expired
SELECT seq, entry_id, actor FROM operations
WHERE agent = :agent AND at < :before AND before IS NOT NULL AND actor NOT IN (:jobs*)
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND operation = 'remove' AND seq > :after)
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
            AND later.operation <> 'new'
    )
ORDER BY seq LIMIT :limit

-- name: expire
UPDATE operations SET before = NULL, after = NULL WHERE agent = :agent AND seq IN (
    SELECT seq FROM operations WHERE agent = :agent AND operation <> 'new' AND entry_id IN (
        SELECT entry_id FROM operations WHERE agent = :agent AND seq IN (:seqs*)
    )
)
