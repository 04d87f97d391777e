-- How far imported conversations and active ones are chunked: the last event that their chunks cover.
ALTER TABLE conversations ADD COLUMN chunked_to INTEGER NOT NULL DEFAULT 0;
