-- name: jobs
SELECT name, next_due_at, last_run_at, duration, failures, error, figures, lease_owner, lease_until
FROM jobs WHERE agent = :agent ORDER BY name

-- name: job_put
INSERT INTO jobs (agent, name, next_due_at, failures, figures) VALUES (:agent, :name, :next_due_at, 0, '{}')
ON CONFLICT (agent, name) DO NOTHING

-- A lease that ends later than any lease can was written before the clock was set back.
-- name: claim
UPDATE jobs SET lease_owner = :owner, lease_until = :until
WHERE agent = :agent AND name = :name AND (lease_until IS NULL OR lease_until < :now OR lease_until > :until)
    AND (:asked = 1 OR next_due_at <= :now OR next_due_at > :latest)
RETURNING failures

-- name: renew
UPDATE jobs SET lease_until = :until WHERE agent = :agent AND name = :name AND lease_owner = :owner

-- name: finish
UPDATE jobs SET next_due_at = :next_due_at, last_run_at = :last_run_at, duration = :duration, failures = :failures,
    error = :error, figures = :figures, lease_owner = NULL, lease_until = NULL
WHERE agent = :agent AND name = :name AND lease_owner = :owner

-- name: set_figures
UPDATE jobs SET figures = :figures, last_run_at = :last_run_at WHERE agent = :agent AND name = :name

-- name: last_figures
SELECT last_run_at, figures FROM jobs WHERE agent = :agent AND name = :name AND last_run_at IS NOT NULL

-- name: run_put
INSERT INTO job_runs (agent, run, name, started_at, figures) VALUES (:agent, :run, :name, :started_at, '{}')

-- name: run_end
UPDATE job_runs SET finished_at = :finished_at, figures = :figures, error = :error WHERE agent = :agent AND run = :run

-- name: run_drop
DELETE FROM job_runs WHERE agent = :agent AND run = :run

-- name: run_undone
UPDATE job_runs SET undone_at = :undone_at WHERE agent = :agent AND run = :run

-- name: run
SELECT run, name, started_at, finished_at, figures, error, undone_at FROM job_runs WHERE agent = :agent AND run = :run

-- name: runs
SELECT run, name, started_at, finished_at, figures, error, undone_at
FROM job_runs WHERE agent = :agent AND (CAST(:name AS TEXT) IS NULL OR name = :name)
ORDER BY started_at DESC, run DESC LIMIT :limit

-- name: job_errors
SELECT DISTINCT error FROM jobs WHERE agent = :agent AND error IS NOT NULL

-- name: job_errors_blank
UPDATE jobs SET error = '[erased]' WHERE agent = :agent AND error IN (:texts*)

-- name: run_errors
SELECT DISTINCT error FROM job_runs WHERE agent = :agent AND error IS NOT NULL

-- name: run_errors_blank
UPDATE job_runs SET error = '[erased]' WHERE agent = :agent AND error IN (:texts*)

-- name: runs_expire
DELETE FROM job_runs WHERE agent = :agent AND started_at < :before

-- name: change_put
INSERT INTO job_changes (agent, run, number, what, entry_id, label, reason, before, after)
SELECT :agent, :run, coalesce(max(number), 0) + 1, :what, :entry_id, :label, :reason, :before, :after
FROM job_changes WHERE agent = :agent AND run = :run

-- name: changes
SELECT number, what, entry_id, label, reason, before, after FROM job_changes
WHERE agent = :agent AND run = :run ORDER BY number

-- name: changes_forget
DELETE FROM job_changes WHERE agent = :agent AND entry_id = :entry_id

-- name: changes_expire
DELETE FROM job_changes WHERE agent = :agent AND run < :before
