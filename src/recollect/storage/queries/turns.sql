-- name: segments
SELECT segment, level, first, size FROM turn_segments WHERE agent = :agent ORDER BY first

-- name: lengths
SELECT lengths FROM turn_segments WHERE agent = :agent AND segment = :segment

-- name: segment_put
INSERT INTO turn_segments (agent, segment, level, first, size, lengths)
VALUES (:agent, :segment, :level, :first, :size, :lengths)

-- name: segments_drop
DELETE FROM turn_segments WHERE agent = :agent AND segment IN (:segments*)

-- name: postings
SELECT segment, term, data FROM turn_postings WHERE agent = :agent AND segment IN (:segments*) AND term IN (:terms*)

-- name: postings_of
SELECT segment, term, data FROM turn_postings WHERE agent = :agent AND segment IN (:segments*)

-- name: postings_drop
DELETE FROM turn_postings WHERE agent = :agent AND segment IN (:segments*)

-- name: clear_segments
DELETE FROM turn_segments WHERE agent = :agent

-- name: clear_postings
DELETE FROM turn_postings WHERE agent = :agent

-- The number of a conversation is the sequence number of its first event.
-- name: numbers
SELECT id, (SELECT MIN(seq) FROM events WHERE events.agent = :agent AND events.conversation_id = conversations.id)
FROM conversations WHERE agent = :agent AND id IN (:ids*)

-- name: numbers_of
SELECT id, (SELECT MIN(seq) FROM events WHERE events.agent = :agent AND events.conversation_id = conversations.id)
FROM conversations WHERE agent = :agent AND status IN (:statuses*)
    AND (CAST(:channel AS TEXT) IS NULL OR channel_id = :channel)

-- name: numbers_among
SELECT id, (SELECT MIN(seq) FROM events WHERE events.agent = :agent AND events.conversation_id = conversations.id)
FROM conversations WHERE agent = :agent AND id IN (:ids*) AND status IN (:statuses*)
    AND (CAST(:channel AS TEXT) IS NULL OR channel_id = :channel)

-- name: first
SELECT MIN(seq) FROM events WHERE agent = :agent AND conversation_id = :conversation

-- Chunks and archives, which cover a conversation or a part of it, by document number.
-- name: spans
SELECT doc, conversation_id, first_event, last_event FROM entries
WHERE agent = :agent AND doc IN (:docs*) AND kind IN ('chunk', 'archive') AND conversation_id IS NOT NULL
