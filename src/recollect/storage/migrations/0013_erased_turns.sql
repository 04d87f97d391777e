-- Events that were erased, and markers that were rewritten because they quoted one: when, and the hash of what is left.
-- `hash` stays that of the original, so that the chain goes on and proves the other events.
ALTER TABLE events ADD COLUMN erased_at INTEGER;
ALTER TABLE events ADD COLUMN erased_hash TEXT;
CREATE INDEX events_erased ON events (agent, conversation_id, seq) WHERE erased_at IS NOT NULL;
