-- What a vault's files were when they and the entries last agreed: fingerprints only, never text.
-- A vault is known by the id in its own folder, so that two folders are never taken for one.

CREATE TABLE vault_files (
    agent TEXT NOT NULL,
    vault TEXT NOT NULL,
    category TEXT NOT NULL,
    stat TEXT NOT NULL,
    operations INTEGER NOT NULL,
    blocks TEXT NOT NULL,
    doubt TEXT NOT NULL,
    PRIMARY KEY (agent, vault, category)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_vault ON entries (agent, vault_id) WHERE vault_id IS NOT NULL;
