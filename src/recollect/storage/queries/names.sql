-- name: find
SELECT entry_id, canonical FROM names WHERE agent = :agent AND name = :name

-- name: bound
SELECT name, entry_id, canonical FROM names WHERE agent = :agent AND name IN (:names*)

-- name: between
SELECT entries.id FROM names CROSS JOIN entries
WHERE names.agent = :agent AND names.name >= :start AND names.name > :after AND names.name < :end
    AND names.canonical = 1 AND entries.agent = :agent AND entries.id = names.entry_id
ORDER BY names.name LIMIT :limit

-- In two steps, here and elsewhere, because a planner without statistics may assume that the agent alone is selective.
-- name: of
SELECT entry_id, name, canonical FROM names WHERE agent = :agent AND name IN (
    SELECT name FROM names WHERE agent = :agent AND entry_id IN (:ids*)
)
ORDER BY entry_id, canonical DESC, name

-- name: of_docs
SELECT entry_id, name, canonical FROM names WHERE agent = :agent AND name IN (
    SELECT name FROM names WHERE agent = :agent AND entry_id IN (
        SELECT id FROM entries WHERE entries.agent = :agent AND doc IN (:docs*)
    )
)
ORDER BY entry_id, canonical DESC, name

-- name: of_name
SELECT entry_id, name, canonical FROM names WHERE agent = :agent AND name IN (
    SELECT name FROM names WHERE agent = :agent AND entry_id = (
        SELECT entry_id FROM names WHERE agent = :agent AND name = :name
    )
)
ORDER BY entry_id, canonical DESC, name

-- name: bind
INSERT INTO names (agent, name, entry_id, canonical) VALUES (:agent, :name, :entry_id, :canonical)
ON CONFLICT (agent, name) DO UPDATE SET entry_id = excluded.entry_id, canonical = excluded.canonical

-- name: unbind
DELETE FROM names WHERE agent = :agent AND name IN (
    SELECT name FROM names WHERE agent = :agent AND entry_id = :entry_id
)

-- name: dangling
SELECT name FROM names WHERE agent = :agent
    AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.agent = :agent AND entries.id = names.entry_id)

-- name: drop
DELETE FROM names WHERE agent = :agent AND name = :name

-- name: crowded
SELECT entry_id, min(canonical), max(canonical) FROM names WHERE agent = :agent
GROUP BY entry_id HAVING sum(canonical) > 1 OR min(canonical) < 0
