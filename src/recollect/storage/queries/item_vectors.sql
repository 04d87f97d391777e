-- Vectors of fields of entries, made by an embedder of the caller.

-- name: put
INSERT INTO item_vectors (agent, entry_id, field, model, content_hash, vector)
VALUES (:agent, :entry_id, :field, :model, :content_hash, :vector)
ON CONFLICT (agent, entry_id, field) DO UPDATE SET model = excluded.model, content_hash = excluded.content_hash,
    vector = excluded.vector

-- name: of_entries
SELECT entry_id, field, content_hash, vector FROM item_vectors
WHERE agent = :agent AND entry_id IN (:ids*) AND model = :model

-- name: forget
DELETE FROM item_vectors WHERE agent = :agent AND entry_id = :entry_id

-- name: size
SELECT length(item_vectors.vector) FROM names CROSS JOIN item_vectors
WHERE names.agent = :agent AND names.name >= :start AND names.name < :end AND item_vectors.agent = :agent
    AND item_vectors.entry_id = names.entry_id AND item_vectors.model = :model
LIMIT 1
