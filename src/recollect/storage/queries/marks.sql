-- Rows of `requests` in the database that a request changed; `fingerprint` is its execution, `body` what it wrote.

-- name: leave
INSERT INTO requests (agent, key, fingerprint, created_at) VALUES (:agent, :key, :fingerprint, :created_at)
ON CONFLICT (agent, key) DO NOTHING

-- name: get
SELECT fingerprint, body FROM requests WHERE agent = :agent AND key = :key

-- name: record
UPDATE requests SET body = :body WHERE agent = :agent AND key = :key

-- name: entries
SELECT DISTINCT entry_id FROM operations WHERE agent = :agent AND seq BETWEEN :first AND :last

-- name: expire
DELETE FROM requests WHERE agent = :agent AND created_at < :before
