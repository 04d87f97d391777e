-- name: tail_put
INSERT INTO tail (agent, doc, terms) VALUES (:agent, :doc, :terms)

-- name: tail_after
SELECT doc, terms FROM tail WHERE agent = :agent AND doc > :doc ORDER BY doc

-- name: tail_until
DELETE FROM tail WHERE agent = :agent AND doc <= :doc

-- name: tail_drop
DELETE FROM tail WHERE agent = :agent AND doc = :doc

-- name: segments
SELECT segment, level, first, size FROM segments WHERE agent = :agent ORDER BY first

-- name: lengths
SELECT lengths FROM segments WHERE agent = :agent AND segment = :segment

-- name: segment_put
INSERT INTO segments (agent, segment, level, first, size, lengths)
VALUES (:agent, :segment, :level, :first, :size, :lengths)

-- name: segment_rename
UPDATE segments SET segment = :new, lengths = :lengths WHERE agent = :agent AND segment = :segment

-- name: segments_drop
DELETE FROM segments WHERE agent = :agent AND segment IN (:segments*)

-- name: postings
SELECT segment, term, data FROM postings WHERE agent = :agent AND segment IN (:segments*) AND term IN (:terms*)

-- name: posting
SELECT term FROM postings WHERE agent = :agent AND segment = :segment LIMIT 1

-- name: vocabulary
SELECT DISTINCT term FROM postings WHERE agent = :agent AND segment IN (:segments*)

-- name: postings_of
SELECT segment, term, data FROM postings WHERE agent = :agent AND segment IN (:segments*)

-- name: postings_set
UPDATE postings SET data = :data WHERE agent = :agent AND segment = :segment AND term = :term

-- name: postings_remove
DELETE FROM postings WHERE agent = :agent AND segment = :segment AND term = :term

-- name: postings_rename
UPDATE postings SET segment = :new WHERE agent = :agent AND segment = :segment

-- name: postings_drop
DELETE FROM postings WHERE agent = :agent AND segment IN (:segments*)

-- name: removal_put
INSERT INTO removals (agent, number, doc, entry_id, terms) VALUES (:agent, :number, :doc, :entry_id, :terms)

-- name: removals_after
SELECT number, doc, terms FROM removals WHERE agent = :agent AND number > :number ORDER BY number

-- name: removals
SELECT number, doc, entry_id FROM removals WHERE agent = :agent ORDER BY number

-- name: removed_docs
SELECT doc FROM removals WHERE agent = :agent AND doc BETWEEN :first AND :last

-- name: removals_drop
DELETE FROM removals WHERE agent = :agent AND doc BETWEEN :first AND :last

-- name: removals_of
SELECT doc, terms FROM removals WHERE agent = :agent AND entry_id IN (:ids*)

-- name: removals_erase
DELETE FROM removals WHERE agent = :agent AND entry_id IN (:ids*)

-- name: removals_count
SELECT count(*) FROM removals WHERE agent = :agent

-- name: clear_tail
DELETE FROM tail WHERE agent = :agent

-- name: clear_segments
DELETE FROM segments WHERE agent = :agent

-- name: clear_postings
DELETE FROM postings WHERE agent = :agent

-- name: clear_removals
DELETE FROM removals WHERE agent = :agent
