-- name: start
INSERT INTO counters (agent, entries, operations, documents, flushed, live, tokens, removals, layout, analysis, vectors)
VALUES (:agent, 0, 0, 0, 0, 0, 0, 0, 0, :analysis, 0)
ON CONFLICT (agent) DO NOTHING

-- name: lock
UPDATE counters SET operations = operations WHERE agent = :agent
RETURNING entries, operations, documents, flushed, live, tokens, removals, layout, analysis, vectors

-- name: get
SELECT entries, operations, documents, flushed, live, tokens, removals, layout, analysis, vectors FROM counters WHERE agent = :agent

-- name: save
UPDATE counters SET entries = :entries, operations = :operations, documents = :documents, flushed = :flushed, live = :live,
    tokens = :tokens, removals = :removals, layout = :layout, analysis = :analysis,
    vectors = :vectors
WHERE agent = :agent
