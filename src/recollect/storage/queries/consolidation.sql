-- Notes that may be tidied, with the vectors of one model: an alias is a name, too.
-- name: page
SELECT id, scope, channel_id, content, importance, created_at, accessed_at, access_count, (
    SELECT vector FROM embeddings
    WHERE embeddings.agent = :agent AND embeddings.entry_id = entries.id AND model = :model AND dim = :dim
)
FROM entries
WHERE agent = :agent AND id > :after AND kind = 'note' AND lifetime = 'short_term' AND scope <> 'conversation'
    AND NOT EXISTS (SELECT 1 FROM names WHERE names.agent = :agent AND names.entry_id = entries.id)
ORDER BY id LIMIT :limit

-- Asked for the model, a planner without statistics would go through all of its vectors.
-- name: vectors
SELECT entry_id, model, dim, vector FROM embeddings WHERE agent = :agent AND entry_id IN (:ids*)
