-- name: channels
SELECT id, description, is_default, created_at FROM channels WHERE agent = :agent ORDER BY created_at, id

-- name: channel_put
INSERT INTO channels (agent, id, description, is_default, created_at)
VALUES (:agent, :id, :description, :is_default, :created_at) ON CONFLICT (agent, id) DO NOTHING

-- name: start
INSERT INTO conversations (agent, id, ref_code, channel_id, status, started_at, chat_id, model_id, participants, ending, quiet_since)
VALUES (:agent, :id, :ref_code, :channel_id, 'active', :started_at, :chat_id, :model_id, :participants, '', :started_at)
ON CONFLICT (agent, ref_code) DO NOTHING

-- name: conversation
SELECT id, ref_code, channel_id, status, started_at, ended_at, chat_id, model_id, participants, closing_summary, summary_by
FROM conversations WHERE agent = :agent AND id = :id

-- name: conversations_by_id
SELECT id, ref_code, channel_id, status, started_at, ended_at, chat_id, model_id, participants, closing_summary, summary_by
FROM conversations WHERE agent = :agent AND id IN (:ids*)

-- name: imported_titles
SELECT id, closing_summary FROM conversations WHERE agent = :agent AND id IN (:ids*) AND summary_by = 'import'

-- name: conversations_after
SELECT id, ref_code, channel_id, status, started_at, ended_at, chat_id, model_id, participants, closing_summary, summary_by
FROM conversations WHERE agent = :agent AND id > :id ORDER BY id LIMIT :limit

-- name: by_ref
SELECT id, ref_code, channel_id, status, started_at, ended_at, chat_id, model_id, participants, closing_summary, summary_by
FROM conversations WHERE agent = :agent AND ref_code = :ref_code

-- name: conversations
SELECT id, ref_code, channel_id, status, started_at, ended_at, chat_id, model_id, participants, closing_summary, summary_by
FROM conversations WHERE agent = :agent AND status IN (:statuses*)
    AND (CAST(:channel AS TEXT) IS NULL OR channel_id = :channel)
    AND (CAST(:chat_id AS TEXT) IS NULL OR chat_id = :chat_id)
    AND started_at <= :started_at AND (started_at < :started_at OR id < :id)
ORDER BY started_at DESC, id DESC LIMIT :limit

-- name: openings
SELECT id, (
    SELECT substr(content, 1, 400) FROM events WHERE events.agent = :agent AND conversation_id = conversations.id
        AND type = 'UserMsg' AND erased_at IS NULL
    ORDER BY seq LIMIT 1
)
FROM conversations WHERE agent = :agent AND id IN (:ids*)

-- name: of_chat
SELECT id, ref_code, channel_id, status, started_at, ended_at, chat_id, model_id, participants, closing_summary, summary_by
FROM conversations WHERE agent = :agent AND status = 'active' AND ending = '' AND chat_id = :chat_id
ORDER BY started_at DESC, id DESC LIMIT 1

-- name: status
UPDATE conversations SET status = :status, ended_at = COALESCE(ended_at, CAST(:ended_at AS BIGINT)) WHERE agent = :agent AND id = :id

-- name: ending
SELECT ending FROM conversations WHERE agent = :agent AND id = :id

-- name: ending_set
UPDATE conversations SET ending = :ending WHERE agent = :agent AND id = :id

-- name: summary_set
UPDATE conversations SET closing_summary = :summary, summary_by = :by, ending = :ending WHERE agent = :agent AND id = :id

-- The last event that the chunks of the conversation cover, without those that its ending makes.
-- name: chunked
SELECT chunked_to FROM conversations WHERE agent = :agent AND id = :id

-- name: chunked_set
UPDATE conversations SET chunked_to = :upto
WHERE agent = :agent AND id = :id AND chunked_to = :after AND (ending = '' OR summary_by = 'import')

-- name: chunked_renumber
UPDATE conversations SET chunked_to = :upto WHERE agent = :agent AND id = :id

-- Imported conversations with events that no chunk covers, and active ones with more than `recent` of them.
-- name: unchunked
SELECT id FROM conversations
WHERE agent = :agent AND id < :before AND (
    (summary_by = 'import' AND EXISTS (
        SELECT 1 FROM events
        WHERE events.agent = :agent AND events.conversation_id = conversations.id AND seq > chunked_to
    ))
    OR (status = 'active' AND ending = '' AND EXISTS (
        SELECT 1 FROM events
        WHERE events.agent = :agent AND events.conversation_id = conversations.id AND seq > chunked_to
        ORDER BY seq LIMIT 1 OFFSET :recent
    ))
)
ORDER BY id DESC LIMIT :limit

-- name: quiet
SELECT id, started_at, (
    SELECT events.id FROM events WHERE events.agent = :agent AND conversation_id = conversations.id
    ORDER BY seq DESC LIMIT 1
)
FROM conversations WHERE agent = :agent AND status = 'active' AND quiet_since < :before
ORDER BY quiet_since DESC, conversations.id LIMIT :limit

-- name: quiet_set
UPDATE conversations SET quiet_since = :since WHERE agent = :agent AND id = :id

-- name: ended_oldest
SELECT id FROM conversations WHERE agent = :agent AND status <> 'active' AND ending <> '["long_term"]'
ORDER BY ended_at DESC, id DESC LIMIT 1000 OFFSET :keep

-- name: journal
SELECT events, flushed, live, tokens, layout, analysis FROM journals WHERE agent = :agent

-- name: journal_start
INSERT INTO journals (agent, events, flushed, live, tokens, layout, analysis) VALUES (:agent, 0, 0, 0, 0, 0, :analysis)
ON CONFLICT (agent) DO NOTHING

-- name: journal_advance
UPDATE journals SET events = events + :count WHERE agent = :agent
RETURNING events, flushed, live, tokens, layout, analysis

-- name: journal_save
UPDATE journals SET flushed = :flushed, live = :live, tokens = :tokens, layout = :layout, analysis = :analysis WHERE agent = :agent

-- name: journal_set
UPDATE journals SET events = :events WHERE agent = :agent

-- name: last_event
SELECT seq FROM events WHERE agent = :agent AND seq > 0 ORDER BY seq DESC LIMIT 1

-- name: talks
SELECT conversation_id, MIN(seq) FROM events WHERE agent = :agent AND conversation_id > :after
GROUP BY conversation_id ORDER BY conversation_id LIMIT :limit

-- name: last
SELECT hash FROM events WHERE agent = :agent AND conversation_id = :id ORDER BY seq DESC LIMIT 1

-- name: standing
SELECT status, ending FROM conversations WHERE agent = :agent AND id = :id

-- name: event_put
INSERT INTO events (agent, seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at)
VALUES (:agent, :seq, :id, :conversation_id, :lane, :type, :content, :payload, :tool_call_id, :hash, :previous, :created_at)

-- Of an erased event the hash stays, so that the chain goes on; `erased_hash` is the hash of what is left.
-- name: event_erase
UPDATE events SET content = :content, payload = :payload, erased_at = :erased_at, erased_hash = :erased_hash
WHERE agent = :agent AND conversation_id = :conversation_id AND seq = :seq

-- name: erased_hashes
SELECT seq, erased_hash FROM events WHERE agent = :agent AND erased_at IS NOT NULL

-- name: erased_count
SELECT count(*) FROM events WHERE agent = :agent AND erased_at IS NOT NULL AND type <> 'CompactMarker'

-- name: erased_of
SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND erased_at IS NOT NULL ORDER BY seq

-- name: events
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND seq > :after ORDER BY seq LIMIT :limit

-- name: events_back
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND seq < :before ORDER BY seq DESC LIMIT :limit

-- name: chat_conversations
SELECT id FROM conversations WHERE agent = :agent AND chat_id = :chat_id ORDER BY started_at DESC, id DESC

-- Type and content only of events without a payload: readers of the others need nothing but the payload.
-- name: payloads_back
SELECT seq, erased_at, CASE WHEN payload = '' THEN type END, CASE WHEN payload = '' THEN content END, payload FROM events
WHERE agent = :agent AND conversation_id = :conversation AND seq < :before AND type <> 'CompactMarker'
ORDER BY seq DESC LIMIT :limit

-- In two steps, because SQLite would otherwise scan all events of the other lane.
-- name: events_of_lane
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND type <> :marker AND seq IN (
    SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND lane = :lane AND seq > :after
) ORDER BY seq

-- name: lane_first
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND seq IN (
    SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND lane = :lane AND seq > :after
    ORDER BY seq LIMIT :limit
) ORDER BY seq

-- name: lane_last
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND seq IN (
    SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND lane = :lane AND seq < :before
    ORDER BY seq DESC LIMIT :limit
) ORDER BY seq DESC

-- One scan of the conversation is faster than one index lookup per event of the lane.
-- name: contents_before
SELECT DISTINCT content FROM events
WHERE agent = :agent AND conversation_id = :conversation AND lane || '' = :lane AND seq < :before
    AND content IN (:contents*)

-- name: sent_after
SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND type <> 'CompactMarker' AND seq IN (
    SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND lane = :lane AND seq > :after
) LIMIT 1

-- name: markers
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND type = 'CompactMarker' AND seq IN (
    SELECT seq FROM events WHERE agent = :agent AND conversation_id = :conversation AND lane = :lane
) ORDER BY seq DESC LIMIT :limit

-- name: ends
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND id IN (:ids*) ORDER BY seq

-- name: between
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND seq >= :first AND seq <= :last
    AND type <> 'CompactMarker'
ORDER BY seq LIMIT :limit

-- name: count_between
SELECT count(*) FROM events WHERE agent = :agent AND conversation_id = :conversation AND seq >= :first AND seq <= :last
    AND type <> 'CompactMarker'

-- name: tool_results
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND type = 'ToolResultCommitted' ORDER BY seq

-- The order makes SQLite look up each number; without it, it reads all events of the agent.
-- name: events_by_seq
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND seq IN (:seqs*) ORDER BY seq

-- name: journal_after
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND seq > :after ORDER BY seq LIMIT :limit

-- name: by_hash
SELECT seq, id, conversation_id, lane, type, content, payload, tool_call_id, hash, previous, created_at, erased_at
FROM events WHERE agent = :agent AND conversation_id = :conversation AND substr(hash, 1, :length) = :hash ORDER BY seq LIMIT 2

-- Excludes imported conversations: they took place elsewhere, without the agent.
-- name: newest
SELECT conversation_id, id FROM events WHERE agent = :agent AND conversation_id <> :beside AND NOT EXISTS (
    SELECT 1 FROM conversations
    WHERE conversations.agent = :agent AND conversations.id = events.conversation_id AND summary_by = 'import'
) ORDER BY seq DESC LIMIT 1

-- name: last_of
SELECT seq, id FROM events WHERE agent = :agent AND conversation_id = :conversation ORDER BY seq DESC LIMIT 1

-- name: lane
SELECT marker, boundary, kept, document FROM lanes WHERE agent = :agent AND conversation_id = :conversation AND lane = :lane

-- name: lane_put
INSERT INTO lanes (agent, conversation_id, lane, marker, boundary, kept, document, updated_at)
VALUES (:agent, :conversation_id, :lane, :marker, :boundary, :kept, :document, :updated_at)
ON CONFLICT (agent, conversation_id, lane) DO UPDATE SET marker = excluded.marker, boundary = excluded.boundary,
    kept = excluded.kept, document = excluded.document, updated_at = excluded.updated_at

-- name: scratch_get
SELECT value FROM scratchpads WHERE agent = :agent AND conversation_id = :conversation AND key = :key

-- name: scratch_keys
SELECT key FROM scratchpads WHERE agent = :agent AND conversation_id = :conversation ORDER BY key

-- name: scratch_put
INSERT INTO scratchpads (agent, conversation_id, key, value, created_at, updated_at)
VALUES (:agent, :conversation_id, :key, :value, :created_at, :created_at)
ON CONFLICT (agent, conversation_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: scratch_drop
DELETE FROM scratchpads WHERE agent = :agent AND conversation_id = :conversation AND key = :key

-- name: scratch_clear
DELETE FROM scratchpads WHERE agent = :agent AND conversation_id = :conversation

-- name: checkpoint_put
INSERT INTO checkpoints (agent, conversation_id, upto, documents, saved_at)
VALUES (:agent, :conversation_id, :upto, :documents, :saved_at)
ON CONFLICT (agent, conversation_id) DO UPDATE SET upto = excluded.upto, documents = excluded.documents,
    saved_at = excluded.saved_at

-- name: checkpoint
SELECT upto, documents, saved_at FROM checkpoints WHERE agent = :agent AND conversation_id = :conversation

-- name: checkpoint_documents
UPDATE checkpoints SET documents = :documents WHERE agent = :agent AND conversation_id = :conversation

-- name: closing_set
UPDATE conversations SET closing_summary = :summary WHERE agent = :agent AND id = :id

-- Entries that jobs made from a conversation, and those that quote notes which may come from it.
-- name: made_from
SELECT id FROM entries WHERE agent = :agent AND (
    (conversation_id = :conversation AND (kind <> 'note' OR source = 'conversation'))
    OR source = 'shelve'
) ORDER BY seq

-- name: containing
SELECT seq, ref_code FROM events JOIN conversations
    ON conversations.agent = :agent AND conversations.id = events.conversation_id
WHERE events.agent = :agent AND replace(lower(content), lower(:word), '') <> lower(content)

-- name: checkpoints
SELECT saved_at, conversation_id, upto, documents FROM checkpoints
WHERE agent = :agent AND saved_at >= :since AND saved_at <= :until
ORDER BY saved_at DESC LIMIT :limit OFFSET :start

-- name: forget_chunk_vectors
DELETE FROM embeddings WHERE agent = :agent AND entry_id IN (
    SELECT id FROM entries WHERE entries.agent = :agent AND conversation_id = :conversation AND kind = 'chunk'
)

-- name: in_conversation
SELECT id FROM entries WHERE agent = :agent AND conversation_id = :conversation AND scope = 'conversation'

-- Includes hand-offs without a conversation that were written since this one began: a program that records a session
-- with hooks writes to the memory over another connection, which does not know the conversation.
-- name: handoffs_of
SELECT id, tags FROM entries
WHERE agent = :agent AND category = 'handoffs' AND kind = 'note'
    AND (conversation_id = :conversation OR (conversation_id IS NULL AND source = 'agent' AND created_at >= :since))
ORDER BY seq DESC

-- name: age
UPDATE entries SET lifetime = 'long_term' WHERE agent = :agent AND conversation_id = :conversation AND kind = 'chunk'

-- name: saved_view
SELECT spans, upto, shown_from, saved_at FROM saved_views WHERE agent = :agent AND conversation_id = :conversation

-- name: saved_view_put
INSERT INTO saved_views (agent, conversation_id, spans, upto, shown_from, saved_at)
VALUES (:agent, :conversation_id, :spans, :upto, :shown_from, :saved_at)
ON CONFLICT (agent, conversation_id) DO UPDATE SET spans = excluded.spans, upto = excluded.upto,
    shown_from = excluded.shown_from, saved_at = excluded.saved_at

-- name: last_saved
SELECT conversation_id, saved_at FROM saved_views WHERE agent = :agent AND EXISTS (
    SELECT 1 FROM conversations WHERE conversations.agent = :agent AND id = conversation_id AND status <> 'archived'
) ORDER BY saved_at DESC, conversation_id DESC LIMIT 1

-- name: model_set
UPDATE conversations SET model_id = :model_id WHERE agent = :agent AND id = :id
