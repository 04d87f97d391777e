-- Finds the active conversations that may be dead, those of a chat, and the entries that belong to a conversation only,
-- without reading all of them.

-- `quiet_since` is a moment before which the last event is known not to be; it is raised by each check.
ALTER TABLE conversations ADD COLUMN quiet_since INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversations_quiet ON conversations (agent, quiet_since DESC, id) WHERE status = 'active';
CREATE INDEX conversations_chat ON conversations (agent, chat_id, started_at DESC, id DESC) WHERE chat_id IS NOT NULL;
CREATE INDEX entries_in_conversations ON entries (agent, id) WHERE scope = 'conversation';
