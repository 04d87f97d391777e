-- An entry that was not used since its creation has 0 as `used_at`.

-- Short-term notes without a name or alias. A note that was restored from the trash is excluded: a user wants to keep
-- it.
-- part: tidied
kind = 'note' AND lifetime = 'short_term' AND scope <> 'conversation' AND closed_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM names WHERE names.agent = :agent AND names.entry_id = entries.id)
    AND (
        SELECT count(*) FROM operations
        WHERE operations.agent = :agent AND operation = 'remove' AND seq IN (
            SELECT own.seq FROM operations AS own
            WHERE own.agent = :agent AND own.entry_id = entries.id AND own.operation <> 'new'
        )
    ) = 0

-- name: page
SELECT id, scope, channel_id, category, content, importance, created_at, access_count, origin,
    CASE WHEN used_at = 0 THEN created_at ELSE used_at END
FROM entries
WHERE agent = :agent AND id > :after AND {tidied}
ORDER BY id LIMIT :limit

-- name: current
SELECT id, CASE WHEN used_at = 0 THEN created_at ELSE used_at END FROM entries WHERE agent = :agent AND id IN (:ids*) AND {tidied}

-- Does not filter by model: a planner without statistics would then scan all vectors of the model.
-- name: vectors
SELECT entry_id, model, dim, vector FROM embeddings WHERE agent = :agent AND entry_id IN (:ids*)
