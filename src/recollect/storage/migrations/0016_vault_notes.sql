-- A vault with one file per note.

-- The front matter of the note's file as a person wrote it, so that keys and comments are in every vault.
ALTER TABLE entries ADD COLUMN front_matter TEXT;

-- What each file was when it and its entry last agreed: fingerprints only, never text. `path` and `stem` are those of
-- the file's path and name, `file` of its bytes, `entry` and `names` of what the entry had.
CREATE TABLE vault_notes (
    agent TEXT NOT NULL,
    vault TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    path TEXT NOT NULL,
    stem TEXT NOT NULL,
    stat TEXT NOT NULL,
    file TEXT NOT NULL,
    entry TEXT NOT NULL,
    names TEXT NOT NULL,
    PRIMARY KEY (agent, vault, entry_id)
) STRICT, WITHOUT ROWID;
