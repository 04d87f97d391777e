-- name: living
SELECT id FROM entries WHERE agent = :agent AND id IN (:ids*)

-- name: last
SELECT coalesce(max(id), 0) FROM recall_events WHERE agent = :agent

-- name: record
INSERT INTO recall_events (agent, id, entry_id, query, score, at)
VALUES (:agent, :id, :entry_id, :query, :score, :at)

-- name: touch
UPDATE entries SET access_count = access_count + :times,
    accessed_at = CASE WHEN accessed_at > :at THEN accessed_at ELSE :at END,
    used_at = CASE WHEN used_at > :at THEN used_at ELSE :at END
WHERE agent = :agent AND id = :id

-- name: questions
SELECT DISTINCT query FROM recall_events WHERE agent = :agent AND query <> ''

-- name: unask
UPDATE recall_events SET query = '' WHERE agent = :agent AND query IN (:texts*)

-- name: of
SELECT query, score, at FROM recall_events WHERE agent = :agent AND id IN (
    SELECT id FROM recall_events WHERE agent = :agent AND entry_id = :entry_id
)
ORDER BY id
