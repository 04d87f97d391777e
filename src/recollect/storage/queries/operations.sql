-- name: insert
INSERT INTO operations (agent, seq, at, actor, operation, entry_id, before, after)
VALUES (:agent, :seq, :at, :actor, :operation, :entry_id, :before, :after)

-- name: of
SELECT seq, at, actor, operation, entry_id, before, after FROM operations
WHERE agent = :agent AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND entry_id = :entry_id) ORDER BY seq

-- name: of_each
SELECT seq, at, actor, operation, entry_id, before, after FROM operations
WHERE agent = :agent AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND entry_id IN (:ids*)) ORDER BY seq

-- name: last_removal
SELECT seq, at, actor, operation, entry_id, before, after FROM operations
WHERE agent = :agent AND operation = 'remove'
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND entry_id = :entry_id)
ORDER BY seq DESC LIMIT 1

-- name: removed_name
SELECT entry_id, before FROM operations
WHERE agent = :agent AND operation = 'remove' AND replace(before, :needle, '') <> before
    -- No later operation on the entry, so it is still in the trash, under this name.
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
    )
ORDER BY seq DESC LIMIT :limit

-- name: removed_superseded
SELECT entry_id, before FROM operations
WHERE agent = :agent AND replace(before, :needle, '') <> before
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND operation = 'remove')
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
    )
ORDER BY seq DESC

-- name: erase
UPDATE operations SET before = NULL, after = NULL WHERE agent = :agent AND seq IN (
    SELECT seq FROM operations WHERE agent = :agent AND entry_id = :entry_id
)

-- name: superseding
SELECT seq, before, after FROM operations
WHERE agent = :agent AND operation = 'write' AND replace(after, '"superseded_by":"', '') <> after

-- name: rewrite
UPDATE operations SET before = :before, after = :after WHERE agent = :agent AND seq = :seq

-- name: containing
SELECT DISTINCT entry_id FROM operations
WHERE agent = :agent AND (replace(before, :probe, '') <> before OR replace(after, :probe, '') <> after)

-- name: after
SELECT seq, at, actor, operation, entry_id, before, after FROM operations
WHERE agent = :agent AND seq > :seq ORDER BY seq LIMIT :limit

-- name: first_from
SELECT seq, at FROM operations WHERE agent = :agent AND seq >= :seq ORDER BY seq LIMIT 1

-- The newest operations; those on pieces of transcripts only if they are asked for.
-- name: newest
SELECT seq, at, actor, operation, entry_id, before, after FROM operations
WHERE agent = :agent AND seq > :seq AND seq < :before AND (CAST(:transcripts AS INTEGER) = 1 OR NOT EXISTS (
    SELECT 1 FROM entries WHERE entries.agent = :agent AND entries.id = operations.entry_id
        AND (entries.kind <> 'note' OR replace(entries.tags, '"auto-handoff"', '') <> entries.tags)
))
ORDER BY seq DESC LIMIT :limit

-- The entries of a list that have this operation or a later one.
-- name: touched_from
SELECT DISTINCT entry_id FROM operations WHERE agent = :agent AND seq >= :seq AND entry_id IN (:ids*)

-- A change, between two operations, of an entry that existed before.
-- name: change_between
SELECT seq FROM operations
WHERE agent = :agent AND seq > :seq AND seq < :before AND operation <> 'add' AND NOT EXISTS (
    SELECT 1 FROM operations AS addition
    WHERE addition.agent = :agent AND addition.entry_id = operations.entry_id AND addition.seq > :seq AND addition.operation = 'add'
) LIMIT 1

-- The entries of a list that were added after an operation.
-- name: added_of
SELECT entry_id FROM operations
WHERE agent = :agent AND seq > :seq AND operation = 'add' AND entry_id IN (:ids*)

-- The existing entries that were added after an operation; pieces of transcripts only if they are asked for.
-- name: count_added
SELECT count(DISTINCT operations.entry_id) FROM operations
JOIN entries ON entries.agent = :agent AND entries.id = operations.entry_id
WHERE operations.agent = :agent AND operations.seq > :seq AND operations.operation = 'add'
    AND (CAST(:transcripts AS INTEGER) = 1 OR entries.kind = 'note' AND replace(entries.tags, '"auto-handoff"', '') = entries.tags)

-- name: count
SELECT count(*) FROM operations WHERE agent = :agent
