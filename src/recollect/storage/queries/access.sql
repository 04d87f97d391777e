-- name: record
INSERT INTO access_log (agent, seq, at, target_agent, call, query)
SELECT :agent, coalesce(max(seq), 0) + 1, :at, :target_agent, :call, :query FROM access_log WHERE agent = :agent

-- name: questions
SELECT DISTINCT query FROM access_log WHERE agent = :agent AND query <> ''

-- name: unask
UPDATE access_log SET query = '' WHERE agent = :agent AND query IN (:texts*)

-- name: token_insert
INSERT INTO tokens (agent, id, name, hash, workspace, agents, rights, created_at, expires_at)
VALUES (:agent, :id, :name, :hash, :workspace, :agents, :rights, :created_at, :expires_at)

-- name: token_by_hash
SELECT id, name, workspace, agents, rights, created_at, expires_at, used_at, revoked_at FROM tokens
WHERE agent = :agent AND hash = :hash AND revoked_at IS NULL

-- name: token_by_id
SELECT id, name, workspace, agents, rights, created_at, expires_at, used_at, revoked_at FROM tokens
WHERE agent = :agent AND id = :id

-- name: token_by_name
SELECT id, name, workspace, agents, rights, created_at, expires_at, used_at, revoked_at FROM tokens
WHERE agent = :agent AND name = :name AND revoked_at IS NULL

-- name: tokens
SELECT id, name, workspace, agents, rights, created_at, expires_at, used_at, revoked_at FROM tokens
WHERE agent = :agent ORDER BY id

-- name: token_in_force
SELECT 1 FROM tokens
WHERE agent = :agent AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now) LIMIT 1

-- name: token_used
UPDATE tokens SET used_at = :used_at WHERE agent = :agent AND id = :id AND (used_at IS NULL OR used_at < :used_at)

-- name: token_revoke
UPDATE tokens SET revoked_at = :revoked_at WHERE agent = :agent AND id = :id AND revoked_at IS NULL

-- name: request_begin
INSERT INTO requests (agent, key, fingerprint, created_at) VALUES (:agent, :key, :fingerprint, :created_at)
ON CONFLICT (agent, key) DO NOTHING

-- name: request
SELECT fingerprint, status, body, headers FROM requests WHERE agent = :agent AND key = :key

-- name: request_resume
UPDATE requests SET created_at = :at, status = NULL
WHERE agent = :agent AND key = :key AND (status = 0 OR status IS NULL AND created_at <= :before)

-- name: request_finish
UPDATE requests SET status = :status, headers = :headers,
    body = CASE WHEN body IS NULL OR :harmless = 1 THEN :body END
WHERE agent = :agent AND key = :key AND status IS NULL

-- name: answers_forget
UPDATE requests SET body = NULL WHERE agent = :agent AND status IS NOT NULL AND body IS NOT NULL

-- Mark requests in progress with an empty body, so that request_finish stores none.
-- name: answers_refuse
UPDATE requests SET body = '' WHERE agent = :agent AND status IS NULL

-- name: answer_missing
SELECT 1 FROM requests WHERE agent = :agent AND status IS NOT NULL AND body IS NULL LIMIT 1

-- name: request_drop
DELETE FROM requests WHERE agent = :agent AND key = :key AND status IS NULL

-- name: request_expired
DELETE FROM requests WHERE agent = :agent AND key = :key AND created_at < :before

-- name: requests_expire
DELETE FROM requests WHERE agent = :agent AND key IN (
    SELECT key FROM requests WHERE agent = :agent AND created_at < :before ORDER BY created_at LIMIT :limit
)
