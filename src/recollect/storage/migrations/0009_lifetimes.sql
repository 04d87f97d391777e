-- Lifetimes that are chosen, and an age that ranking does not see.

-- When an entry was last written, restored, recalled or shown in a context. The job `consolidate` counts its age from
-- here; where it is NULL, from the next run on.
ALTER TABLE entries ADD COLUMN used_at INTEGER;

-- A note without a name used to be short_term unless its author said otherwise, and nothing tells the two apart. So all
-- of them are kept.
UPDATE entries SET lifetime = 'long_term'
WHERE kind = 'note' AND lifetime = 'short_term' AND NOT EXISTS (
    SELECT 1 FROM names WHERE names.agent = entries.agent AND names.entry_id = entries.id
);
