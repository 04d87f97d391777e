-- name: record
INSERT INTO access_log (agent, seq, at, target_agent, call, query)
SELECT :agent, coalesce(max(seq), 0) + 1, :at, :target_agent, :call, :query FROM access_log WHERE agent = :agent

-- name: list
SELECT at, target_agent, call, query FROM access_log WHERE agent = :agent ORDER BY seq DESC LIMIT :limit
