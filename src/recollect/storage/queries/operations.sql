-- An operation `new` is an addition without what the entry has: see migration 0020. It is the first operation on its
-- entry, which refers to it with `added`; the index by entry leaves it out. `written` is how it is read. It names no
-- actor if that is the agent.

-- part: written
'[' || CAST(json_quote(content) AS TEXT) || ',' || CAST(entries.seq AS TEXT)
    || CASE WHEN operations.after = '' THEN '' ELSE ',' || operations.after END || ']'

-- part: logged_actor
CASE WHEN actor = '' THEN agent ELSE actor END AS actor

-- part: logged_operation
CASE WHEN operation = 'new' THEN 'add' ELSE operation END AS operation

-- part: logged_after
CASE WHEN operation = 'new' THEN (
    SELECT {written} FROM entries
    WHERE entries.agent = :agent AND entries.id = operations.entry_id
) ELSE after END AS after

-- part: logged
seq, at, {logged_actor}, {logged_operation}, entry_id, before, {logged_after}

-- name: insert
INSERT INTO operations (agent, seq, at, actor, operation, entry_id, before, after)
VALUES (:agent, :seq, :at, :actor, :operation, :entry_id, :before, :after)

-- Without the row `new`.
-- name: of
SELECT seq, at, {logged_actor}, operation, entry_id, before, after FROM operations
WHERE agent = :agent
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND entry_id IN (:ids*) AND operation <> 'new')
ORDER BY seq

-- name: of_new
SELECT {logged} FROM operations
WHERE agent = :agent AND operation = 'new'
    AND seq IN (SELECT added FROM entries WHERE agent = :agent AND id IN (:ids*))
ORDER BY seq

-- name: last_removal
SELECT seq, at, {logged_actor}, operation, entry_id, before, after FROM operations
WHERE agent = :agent AND operation = 'remove'
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND entry_id = :entry_id AND operation <> 'new')
ORDER BY seq DESC LIMIT 1

-- name: removed_name
SELECT entry_id, before FROM operations
WHERE agent = :agent AND operation = 'remove' AND replace(before, :needle, '') <> before
    -- No later operation on the entry, so it is still in the trash, under this name.
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
            AND later.operation <> 'new'
    )
ORDER BY seq DESC LIMIT :limit

-- name: removed_superseded
SELECT entry_id, before FROM operations
WHERE agent = :agent AND replace(before, :needle, '') <> before
    AND seq IN (SELECT seq FROM operations WHERE agent = :agent AND operation = 'remove')
    AND NOT EXISTS (
        SELECT 1 FROM operations AS later
        WHERE later.agent = :agent AND later.entry_id = operations.entry_id AND later.seq > operations.seq
            AND later.operation <> 'new'
    )
ORDER BY seq DESC

-- name: erase
UPDATE operations SET before = NULL, after = NULL WHERE agent = :agent AND seq IN (
    SELECT seq FROM operations WHERE agent = :agent AND entry_id = :entry_id AND operation <> 'new'
)

-- Write an addition out, before the content of its entry changes or the entry is removed.
-- name: complete
UPDATE operations SET operation = 'add', after = (
    SELECT {written} FROM entries
    WHERE entries.agent = :agent AND entries.id = :entry_id
)
WHERE agent = :agent AND operation = 'new' AND entry_id = :entry_id
    AND seq = (SELECT added FROM entries WHERE agent = :agent AND id = :entry_id)

-- name: superseding
SELECT seq, before, after FROM operations
WHERE agent = :agent AND operation = 'write' AND replace(after, '"superseded_by":"', '') <> after

-- name: rewrite
UPDATE operations SET before = :before, after = :after WHERE agent = :agent AND seq = :seq

-- name: containing
SELECT DISTINCT entry_id FROM operations
WHERE agent = :agent AND (replace(before, :probe, '') <> before OR replace(after, :probe, '') <> after)

-- name: after
SELECT {logged} FROM operations
WHERE agent = :agent AND seq > :seq ORDER BY seq LIMIT :limit

-- name: additions
SELECT seq, at, {logged_after} FROM operations
WHERE agent = :agent AND operation IN ('add', 'new') AND seq > :seq ORDER BY seq LIMIT :limit

-- All rows of the table, each with its content.
-- name: dump
SELECT agent, seq, at, {logged_actor}, {logged_operation}, entry_id, before, {logged_after} FROM operations
WHERE agent = :agent ORDER BY seq

-- name: first_from
SELECT seq, at FROM operations WHERE agent = :agent AND seq >= :seq ORDER BY seq LIMIT 1

-- The newest operations; those on pieces of transcripts only if they are asked for.
-- name: newest
SELECT {logged} FROM operations
WHERE agent = :agent AND seq > :seq AND seq < :before AND (CAST(:transcripts AS INTEGER) = 1 OR NOT EXISTS (
    SELECT 1 FROM entries WHERE entries.agent = :agent AND entries.id = operations.entry_id
        AND (entries.kind <> 'note' OR replace(entries.tags, '"auto-handoff"', '') <> entries.tags)
))
ORDER BY seq DESC LIMIT :limit

-- The entries of a list that have this operation or a later one.
-- name: touched_from
SELECT entry_id FROM operations WHERE agent = :agent AND seq >= :seq AND entry_id IN (:ids*) AND operation <> 'new'

-- A change, between two operations, of an entry that existed before.
-- name: change_between
SELECT seq FROM operations
WHERE agent = :agent AND seq > :seq AND seq < :before AND operation NOT IN ('add', 'new') AND NOT EXISTS (
    SELECT 1 FROM operations AS addition
    WHERE addition.agent = :agent AND addition.entry_id = operations.entry_id AND addition.seq > :seq
        AND addition.operation = 'add' AND addition.operation <> 'new'
) AND NOT EXISTS (
    SELECT 1 FROM entries
    WHERE entries.agent = :agent AND entries.id = operations.entry_id AND entries.added > :seq
) LIMIT 1

-- The entries of a list that were added after an operation.
-- name: added_of
SELECT entry_id FROM operations
WHERE agent = :agent AND seq > :seq AND operation = 'add' AND operation <> 'new' AND entry_id IN (:ids*)

-- The existing entries that were added after an operation; pieces of transcripts only if they are asked for.
-- name: count_added
SELECT count(DISTINCT operations.entry_id) FROM operations
JOIN entries ON entries.agent = :agent AND entries.id = operations.entry_id
WHERE operations.agent = :agent AND operations.seq > :seq AND operations.operation IN ('add', 'new')
    AND (CAST(:transcripts AS INTEGER) = 1 OR entries.kind = 'note' AND replace(entries.tags, '"auto-handoff"', '') = entries.tags)

-- name: count
SELECT count(*) FROM operations WHERE agent = :agent
