-- Pairs of entries that may contradict, update or repeat each other.

-- name: put
INSERT INTO reviews (agent, id, older_id, newer_id, relation, reason, found_at)
VALUES (:agent, :id, :older_id, :newer_id, :relation, :reason, :found_at)
ON CONFLICT (agent, older_id, newer_id) DO NOTHING

-- name: change
UPDATE reviews SET relation = :relation, reason = :reason WHERE agent = :agent AND id = :id AND resolved_at IS NULL

-- name: drop
DELETE FROM reviews WHERE agent = :agent AND id = :id AND resolved_at IS NULL

-- name: forget
DELETE FROM reviews WHERE agent = :agent AND (older_id = :entry_id OR newer_id = :entry_id)

-- name: get
SELECT id, older_id, newer_id, relation, reason, found_at, resolved_at, resolution
FROM reviews WHERE agent = :agent AND id = :id

-- A pair is open while both entries hold.
-- name: page
SELECT id, older_id, newer_id, relation, reason, found_at, resolved_at, resolution FROM reviews
WHERE agent = :agent AND id < :before AND (CAST(:resolved AS INTEGER) = 1 OR resolved_at IS NULL)
    AND 2 = (
        SELECT count(*) FROM entries
        WHERE entries.agent = :agent AND entries.id IN (reviews.older_id, reviews.newer_id)
            AND (
                CAST(:resolved AS INTEGER) = 1
                OR (closed_at IS NULL AND (valid_until IS NULL OR valid_until > CAST(:now AS BIGINT)))
            )
    )
ORDER BY id DESC LIMIT :limit

-- name: open_of_docs
SELECT id, older_id, newer_id FROM reviews
WHERE agent = :agent AND resolved_at IS NULL
    AND older_id IN (SELECT entries.id FROM entries WHERE entries.agent = :agent AND doc IN (:docs*))

-- name: open_older
SELECT id, older_id, newer_id, relation, reason FROM reviews
WHERE agent = :agent AND older_id IN (:ids*) AND resolved_at IS NULL

-- name: open_newer
SELECT id, older_id, newer_id, relation, reason FROM reviews
WHERE agent = :agent AND newer_id IN (:ids*) AND resolved_at IS NULL

-- name: resolve
UPDATE reviews SET resolved_at = :resolved_at, resolution = :resolution WHERE agent = :agent AND id = :id

-- name: progress
SELECT operation FROM review_progress WHERE agent = :agent

-- name: reviewed_at
SELECT reviewed_at FROM review_progress WHERE agent = :agent

-- name: set_progress
INSERT INTO review_progress (agent, operation, reviewed_at) VALUES (:agent, :operation, :reviewed_at)
ON CONFLICT (agent) DO UPDATE SET operation = excluded.operation, reviewed_at = excluded.reviewed_at

-- name: written_after
SELECT seq, entry_id, CASE WHEN operation = 'new' THEN 'add' ELSE operation END FROM operations
WHERE agent = :agent AND seq > :seq ORDER BY seq LIMIT :limit

-- name: docs
SELECT id, doc FROM entries WHERE agent = :agent AND id IN (:ids*)

-- name: notes
SELECT doc, id, content, created_at, scope, conversation_id, channel_id, category FROM entries
WHERE agent = :agent AND doc IN (:docs*) AND kind = 'note' AND COALESCE(category, '') <> 'handoffs'
    AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > :now)
