-- Checkpoints of graphs and the writes that are pending at each.

-- name: put
INSERT INTO graph_checkpoints (agent, thread, namespace, id, parent, run, format, metadata, type, state, hash)
VALUES (:agent, :thread, :namespace, :id, :parent, :run, :format, :metadata, :type, :state, :hash)
ON CONFLICT (agent, thread, namespace, id) DO UPDATE SET parent = excluded.parent, run = excluded.run,
    format = excluded.format, metadata = excluded.metadata, type = excluded.type, state = excluded.state,
    hash = excluded.hash

-- name: add
INSERT INTO graph_checkpoints (agent, thread, namespace, id, parent, run, format, metadata, type, state, hash)
VALUES (:agent, :thread, :namespace, :id, :parent, :run, :format, :metadata, :type, :state, :hash)
ON CONFLICT (agent, thread, namespace, id) DO NOTHING

-- name: get
SELECT thread, namespace, id, parent, run, format, metadata, type, state, hash FROM graph_checkpoints
WHERE agent = :agent AND thread = :thread AND namespace = :namespace AND id = :id

-- name: latest
SELECT id FROM graph_checkpoints WHERE agent = :agent AND thread = :thread AND namespace = :namespace
ORDER BY id DESC LIMIT 1

-- name: every
SELECT thread, namespace, id, metadata FROM graph_checkpoints WHERE agent = :agent
ORDER BY id DESC, thread, namespace

-- name: of_thread
SELECT thread, namespace, id, metadata FROM graph_checkpoints WHERE agent = :agent AND thread = :thread
ORDER BY id DESC, namespace

-- name: of_runs
SELECT thread, namespace, id FROM graph_checkpoints WHERE agent = :agent AND run IN (:runs*)

-- name: drop
DELETE FROM graph_checkpoints WHERE agent = :agent AND thread = :thread AND namespace = :namespace AND id = :id

-- name: drop_thread
DELETE FROM graph_checkpoints WHERE agent = :agent AND thread = :thread

-- name: write_put
INSERT INTO graph_writes (agent, thread, namespace, checkpoint, task, number, path, channel, type, value, hash)
VALUES (:agent, :thread, :namespace, :checkpoint, :task, :number, :path, :channel, :type, :value, :hash)
ON CONFLICT (agent, thread, namespace, checkpoint, task, number) DO UPDATE SET path = excluded.path,
    channel = excluded.channel, type = excluded.type, value = excluded.value, hash = excluded.hash

-- name: write_add
INSERT INTO graph_writes (agent, thread, namespace, checkpoint, task, number, path, channel, type, value, hash)
VALUES (:agent, :thread, :namespace, :checkpoint, :task, :number, :path, :channel, :type, :value, :hash)
ON CONFLICT (agent, thread, namespace, checkpoint, task, number) DO NOTHING

-- name: writes
SELECT task, number, path, channel, type, value, hash FROM graph_writes
WHERE agent = :agent AND thread = :thread AND namespace = :namespace AND checkpoint = :id
ORDER BY path, task, number

-- name: drop_writes
DELETE FROM graph_writes
WHERE agent = :agent AND thread = :thread AND namespace = :namespace AND checkpoint = :id

-- name: drop_thread_writes
DELETE FROM graph_writes WHERE agent = :agent AND thread = :thread
