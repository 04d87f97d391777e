-- The fragments {entry_…} come from storage/columns.py.

-- name: insert
INSERT INTO entries (agent, {entry_columns}, used_at, added) VALUES (:agent, {entry_values}, :used_at, :added)

-- name: update
UPDATE entries SET {entry_written}, used_at = :updated_at, added = CASE WHEN content = :content THEN added END
WHERE agent = :agent AND id = :id

-- name: close
UPDATE entries SET {entry_closing}, updated_at = :updated_at, doc = :doc WHERE agent = :agent AND id = :id

-- name: set_made_from
UPDATE entries SET origin = :origin, evidence = :evidence, updated_at = :updated_at WHERE agent = :agent AND id = :id

-- name: superseded
SELECT id, closed_at FROM entries WHERE agent = :agent AND superseded_by = :successor ORDER BY closed_at DESC, id DESC

-- name: adjust
UPDATE entries SET {entry_bookkeeping} WHERE agent = :agent AND id = :id

-- name: set_doc
UPDATE entries SET doc = :doc WHERE agent = :agent AND id = :id

-- name: rename
UPDATE entries SET doc = :doc, lifetime = :lifetime, updated_at = :updated_at, used_at = :updated_at
WHERE agent = :agent AND id = :id

-- name: use
UPDATE entries SET used_at = CASE WHEN used_at > :at OR used_at = 0 AND created_at > :at THEN used_at ELSE :at END
WHERE agent = :agent AND id IN (:ids*)

-- name: delete
DELETE FROM entries WHERE agent = :agent AND id = :id

-- name: added
SELECT added, used_at FROM entries WHERE agent = :agent AND id = :id

-- name: added_from
SELECT id FROM entries WHERE agent = :agent AND id IN (:ids*) AND added >= :seq

-- name: some
SELECT id FROM entries WHERE agent = :agent LIMIT 1

-- name: by_ids
SELECT {entry_columns}
FROM entries WHERE agent = :agent AND id IN (:ids*)

-- name: by_name
SELECT {entry_columns}
FROM entries WHERE agent = :agent AND id = (SELECT entry_id FROM names WHERE agent = :agent AND name = :name)

-- name: by_docs
SELECT {entry_columns}
FROM entries WHERE agent = :agent AND doc IN (:docs*)

-- Chunks of a conversation that has not ended are for searches in conversations only: a recall in that conversation
-- would repeat what it has in its window.
-- part: in_reach
(scope <> 'conversation' OR conversation_id = CAST(:conversation AS TEXT))
    AND (scope <> 'channel' OR channel_id = CAST(:channel AS TEXT))
    AND (
        conversation_id IS NULL OR (kind = 'note' AND COALESCE(category, '') <> 'handoffs')
        OR (CAST(:running AS INTEGER) = 1 AND kind <> 'chunk')
        OR NOT EXISTS (
            SELECT 1 FROM conversations
            WHERE conversations.agent = :agent AND conversations.id = entries.conversation_id AND status = 'active'
        )
    )
    AND (
        CAST(:private AS INTEGER) = 1 OR kind <> 'note' OR (source = 'conversation' AND conversation_id IS NOT NULL)
        OR EXISTS (SELECT 1 FROM names WHERE names.agent = :agent AND names.entry_id = entries.id)
    )

-- part: ranked
SELECT doc, tags, content_hash, kind, scope, category, importance, created_at, accessed_at, access_count,
    (SELECT count(*) FROM names WHERE names.agent = :agent AND names.entry_id = entries.id)
FROM entries WHERE agent = :agent AND doc IN (:docs*)

-- name: filter_docs
{ranked} AND {entry_filters} AND {in_reach}

-- The same for filters that let all entries pass that hold at a moment: nearly every recall.
-- name: current_docs
{ranked} AND closed_at IS NULL AND (valid_until IS NULL OR valid_until > :current_at) AND {in_reach}

-- name: of_categories
SELECT doc FROM entries WHERE agent = :agent AND category IN (:categories*) LIMIT :limit

-- name: after_id
SELECT {entry_columns}
FROM entries WHERE agent = :agent AND id > :id ORDER BY id LIMIT :limit

-- name: containing
SELECT id FROM entries WHERE agent = :agent AND replace(content, :probe, '') <> content

-- name: citing
SELECT id FROM entries WHERE agent = :agent AND replace(evidence, :probe, '') <> evidence

-- name: count
SELECT count(*) FROM entries WHERE agent = :agent

-- name: forget_signals
DELETE FROM recall_events WHERE agent = :agent AND id IN (
    SELECT id FROM recall_events WHERE agent = :agent AND entry_id = :id
)

-- name: forget_promotions
DELETE FROM promotions WHERE agent = :agent AND entry_id = :id
