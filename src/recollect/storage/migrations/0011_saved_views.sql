-- Which messages of a conversation form the talk as it was saved last. The journal keeps all of them.
-- `spans` is a JSON list of [first, last] event numbers, both inclusive. Events after `upto` belong to the talk as well.
-- Messages before the event `shown_from` were trimmed: they are part of the talk but are not loaded.
CREATE TABLE saved_views (
    agent TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    spans TEXT NOT NULL,
    upto INTEGER NOT NULL,
    shown_from INTEGER NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (agent, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_views_saved ON saved_views (agent, saved_at);
