-- Notes and their connections, for the graph of notes. Raw pieces of conversations are left out, automatic hand-offs as well.

-- part: written
kind = 'note' AND replace(tags, '"auto-handoff"', '') = tags

-- name: notes
SELECT id, content, created_at, category, superseded_by, closed_at, evidence, tags, concept_tags FROM entries
WHERE agent = :agent AND {written} ORDER BY created_at DESC, seq DESC LIMIT :limit

-- name: count
SELECT count(*) FROM entries WHERE agent = :agent AND {written}

-- name: names
SELECT name, entry_id, canonical FROM names WHERE agent = :agent
