-- Whether an agent has any data that an import must preserve.
-- name: present
SELECT CASE WHEN
    EXISTS (SELECT 1 FROM counters WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM operations WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM journals WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM conversations WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM channels WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM reminders WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM graph_checkpoints WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM jobs WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM job_runs WHERE agent = :agent)
    OR EXISTS (SELECT 1 FROM access_log WHERE agent = :agent)
THEN 1 ELSE 0 END

-- name: logged
SELECT 1 FROM operations WHERE agent = :agent AND entry_id = :entry_id AND operation <> 'new' LIMIT 1

-- name: chats
SELECT chat_id, id FROM conversations WHERE agent = :agent AND chat_id IS NOT NULL ORDER BY started_at, id

-- name: ended
UPDATE conversations SET ended_at = :ended_at WHERE agent = :agent AND id = :id

-- name: entitled
UPDATE conversations SET closing_summary = :title WHERE agent = :agent AND id = :id
