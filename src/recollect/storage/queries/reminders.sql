-- name: put
INSERT INTO reminders (agent, id, session_id, plugin, recipient, message, due_at, created_at)
VALUES (:agent, :id, :session_id, :plugin, :recipient, :message, :due_at, :created_at)

-- A claim further in the future than a claim lasts was made before the clock was set back.
-- name: due
SELECT id, session_id, plugin, recipient, message, due_at, claimed_at, delivered_at, created_at
FROM reminders WHERE agent = :agent AND delivered_at IS NULL AND due_at <= :now
    AND (claimed_at IS NULL OR claimed_at <= :expired OR claimed_at > :ahead)
ORDER BY due_at, id LIMIT :limit

-- name: claim
UPDATE reminders SET claimed_at = :now, claim = :claim WHERE agent = :agent AND id IN (:ids*)

-- name: hold
UPDATE reminders SET claimed_at = :now WHERE agent = :agent AND id = :id AND claim = :claim

-- name: deliver
UPDATE reminders SET delivered_at = :now, claimed_at = NULL, claim = NULL
WHERE agent = :agent AND id = :id AND delivered_at IS NULL
    AND (claim = CAST(:claim AS TEXT) OR claimed_at IS NULL OR claimed_at <= :expired OR claimed_at > :ahead)

-- name: release
UPDATE reminders SET claimed_at = NULL, claim = NULL
WHERE agent = :agent AND id = :id
    AND (claim = CAST(:claim AS TEXT) OR claimed_at <= :expired OR claimed_at > :ahead)

-- name: cancel
DELETE FROM reminders WHERE agent = :agent AND id = :id AND delivered_at IS NULL

-- name: expire
DELETE FROM reminders WHERE agent = :agent AND delivered_at < :before

-- name: waiting
SELECT id, session_id, plugin, recipient, message, due_at, claimed_at, delivered_at, created_at
FROM reminders WHERE agent = :agent AND delivered_at IS NULL
    AND due_at >= :due_at AND (due_at > :due_at OR id > :id)
ORDER BY due_at, id LIMIT :limit

-- name: every
SELECT id, session_id, plugin, recipient, message, due_at, claimed_at, delivered_at, created_at
FROM reminders WHERE agent = :agent AND due_at >= :due_at AND (due_at > :due_at OR id > :id)
ORDER BY due_at, id LIMIT :limit
