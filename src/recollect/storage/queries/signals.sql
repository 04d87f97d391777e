-- name: living_count
SELECT count(*) FROM entries WHERE agent = :agent AND id IN (SELECT value ->> 0 FROM json_each(:found))

-- name: living
SELECT id FROM entries WHERE agent = :agent AND id IN (SELECT value ->> 0 FROM json_each(:found))

-- One statement for all signals of a buffer, because each statement gives the interpreter lock away.
-- name: record
INSERT INTO recall_events (agent, id, entry_id, query, score, at)
SELECT :agent, (SELECT coalesce(max(id), 0) FROM recall_events WHERE agent = :agent) + number,
    entry_id, query, CAST(1 AS DOUBLE PRECISION) / place, at
FROM (
    SELECT CAST(value ->> 0 AS BIGINT) AS number, CAST(value ->> 1 AS TEXT) AS entry_id,
        CAST(value ->> 2 AS TEXT) AS query, CAST(value ->> 3 AS BIGINT) AS place, CAST(value ->> 4 AS BIGINT) AS at
    FROM json_each(:signals)
) AS found

-- Without the list of ids SQLite would read all entries of the agent, and without DISTINCT the JSON for each of them.
-- name: touch
UPDATE entries SET access_count = access_count + found.times,
    accessed_at = CASE WHEN accessed_at > found.at THEN accessed_at ELSE found.at END,
    used_at = CASE WHEN used_at > found.at OR used_at = 0 AND created_at > found.at THEN used_at ELSE found.at END
FROM (
    SELECT DISTINCT CAST(value ->> 0 AS TEXT) AS id, CAST(value ->> 1 AS BIGINT) AS times,
        CAST(value ->> 2 AS BIGINT) AS at
    FROM json_each(:accesses)
) AS found
WHERE entries.agent = :agent AND entries.id IN (SELECT value ->> 0 FROM json_each(:accesses))
    AND entries.id = found.id

-- name: questions
SELECT DISTINCT query FROM recall_events WHERE agent = :agent AND query <> ''

-- name: unask
UPDATE recall_events SET query = '' WHERE agent = :agent AND query IN (:texts*)

-- name: of
SELECT query, score, at FROM recall_events WHERE agent = :agent AND id IN (
    SELECT id FROM recall_events WHERE agent = :agent AND entry_id = :entry_id
)
ORDER BY id
