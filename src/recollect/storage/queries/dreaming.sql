-- name: light
SELECT recall_events.entry_id, count(*), sum(recall_events.score), max(recall_events.at),
    max(CASE WHEN promotions.entry_id IS NULL THEN 0 ELSE 1 END)
FROM recall_events
JOIN entries ON entries.agent = :agent AND entries.id = recall_events.entry_id
    AND entries.kind = 'note' AND entries.scope <> 'conversation'
LEFT JOIN promotions ON promotions.agent = :agent AND promotions.entry_id = recall_events.entry_id
    AND promotions.phase = 'deep'
WHERE recall_events.agent = :agent
GROUP BY recall_events.entry_id ORDER BY count(*) DESC, recall_events.entry_id LIMIT :limit

-- In two steps, because SQLite would otherwise scan the signals of all entries.
-- name: signals
SELECT DISTINCT entry_id, query, at / 86400000 FROM recall_events WHERE agent = :agent AND id IN (
    SELECT id FROM recall_events WHERE agent = :agent AND entry_id IN (:ids*)
)

-- A row far in the future was written before the clock was set back.
-- name: lately
SELECT count(*) FROM promotions
WHERE agent = :agent AND phase = 'deep' AND promoted_at > :since AND promoted_at < :until

-- name: promote
INSERT INTO promotions (agent, entry_id, phase, promoted_at, score, state, hits, days)
VALUES (:agent, :entry_id, 'deep', :promoted_at, :score, :state, :hits, :days)
ON CONFLICT (agent, entry_id, phase) DO NOTHING

-- name: ledger
SELECT entry_id, COALESCE(state, 'done') FROM promotions WHERE agent = :agent AND phase = 'deep'

-- name: pending
SELECT promotions.entry_id, entries.content, promotions.score, promotions.hits, promotions.days, entries.origin
FROM promotions JOIN entries ON entries.agent = :agent AND entries.id = promotions.entry_id
WHERE promotions.agent = :agent AND promotions.phase = 'deep' AND promotions.state = 'pending'
ORDER BY promotions.promoted_at, promotions.score DESC, promotions.entry_id

-- name: taken_back
SELECT promotions.entry_id
FROM promotions JOIN entries ON entries.agent = :agent AND entries.id = promotions.entry_id
WHERE promotions.agent = :agent AND promotions.phase = 'deep' AND COALESCE(promotions.state, 'done') <> 'undone'
    AND entries.lifetime <> 'long_term'

-- name: set_state
UPDATE promotions SET state = :state WHERE agent = :agent AND phase = 'deep' AND entry_id IN (:ids*)
