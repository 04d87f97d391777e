-- The hash of a conversation's last event covers all before it.
-- name: changed
SELECT id, hash, ending, seen FROM (
    SELECT conversations.id, conversations.ending, extracted.hash AS known, extracted.seen, (
        SELECT events.hash FROM events WHERE events.agent = :agent AND events.conversation_id = conversations.id
        ORDER BY events.seq DESC LIMIT 1
    ) AS hash
    FROM conversations
    LEFT JOIN extracted ON extracted.agent = :agent AND extracted.conversation_id = conversations.id
    WHERE conversations.agent = :agent AND conversations.id > :after
) AS found
WHERE hash IS NOT NULL AND (known IS NULL OR known <> hash) ORDER BY id LIMIT :limit

-- name: seen
SELECT seen FROM extracted WHERE agent = :agent AND conversation_id = :conversation_id

-- name: done
INSERT INTO extracted (agent, conversation_id, hash, seen) VALUES (:agent, :conversation_id, :hash, :seen)
ON CONFLICT (agent, conversation_id) DO UPDATE SET hash = excluded.hash, seen = excluded.seen

-- name: beginnings
SELECT substr(content, 1, :length) FROM entries WHERE agent = :agent AND category = :category AND kind = 'note'

-- name: handoffs_of
SELECT id FROM entries
WHERE agent = :agent AND conversation_id = :conversation AND category = 'handoffs' AND kind = 'note'

-- Notes that may be shelved: those of the workspace without a name or an open task that were neither promoted by
-- dreaming nor restored from the trash by a user. Unless `all` is 1, only those that a job made from a conversation, and
-- not what the user stated in it.
-- part: shelved
closed_at IS NULL AND replace(content, '[ ]', '') = content
    AND (:all = 1 OR source = 'shelve'
        OR (source = 'conversation' AND conversation_id IS NOT NULL AND origin <> 'user'))
    AND NOT EXISTS (SELECT 1 FROM names WHERE names.agent = :agent AND names.entry_id = entries.id)
    AND NOT EXISTS (
        SELECT 1 FROM promotions
        WHERE promotions.agent = :agent AND promotions.entry_id = entries.id AND promotions.phase = 'deep'
    )
    AND (
        SELECT count(*) FROM operations
        WHERE operations.agent = :agent AND operation = 'remove' AND seq IN (
            SELECT own.seq FROM operations AS own
            WHERE own.agent = :agent AND own.entry_id = entries.id AND own.operation <> 'new'
        )
    ) = 0

-- name: crowded
SELECT category, count(*), sum(CASE WHEN source = 'shelve' THEN 0 ELSE 1 END) FROM entries
WHERE agent = :agent AND category IS NOT NULL AND kind = 'note' AND scope = 'workspace'
    AND {shelved}
GROUP BY category ORDER BY category

-- `created_at + 0` keeps SQLite from scanning the notes of all categories in index order.
-- name: oldest
SELECT id, created_at FROM entries
WHERE agent = :agent AND category = :category AND kind = 'note' AND scope = 'workspace' AND source <> 'shelve'
    AND {shelved}
ORDER BY created_at + 0, id LIMIT :limit

-- name: summaries
SELECT id FROM entries
WHERE agent = :agent AND category = :category AND kind = 'note' AND scope = 'workspace' AND source = 'shelve'
    AND NOT EXISTS (SELECT 1 FROM names WHERE names.agent = :agent AND names.entry_id = entries.id)
