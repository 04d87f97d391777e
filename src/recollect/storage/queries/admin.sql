-- Queries over all agents of a file. Only the home uses them, to know which agents to check and copy; never an agent.

-- Skip scan over the index: one lookup per agent, independent of the number of rows.
-- name: agents
WITH RECURSIVE
    counted (agent) AS (
        SELECT min(agent) FROM counters
        UNION ALL SELECT (SELECT min(agent) FROM counters WHERE counters.agent > counted.agent)
        FROM counted WHERE counted.agent IS NOT NULL
    ),
    logged (agent) AS (
        SELECT min(agent) FROM operations
        UNION ALL SELECT (SELECT min(agent) FROM operations WHERE operations.agent > logged.agent)
        FROM logged WHERE logged.agent IS NOT NULL
    ),
    talking (agent) AS (
        SELECT min(agent) FROM conversations
        UNION ALL SELECT (SELECT min(agent) FROM conversations WHERE conversations.agent > talking.agent)
        FROM talking WHERE talking.agent IS NOT NULL
    ),
    speakers (agent) AS (
        SELECT min(agent) FROM events
        UNION ALL SELECT (SELECT min(agent) FROM events WHERE events.agent > speakers.agent)
        FROM speakers WHERE speakers.agent IS NOT NULL
    ),
    running (agent) AS (
        SELECT min(agent) FROM graph_checkpoints
        UNION ALL SELECT (SELECT min(agent) FROM graph_checkpoints WHERE graph_checkpoints.agent > running.agent)
        FROM running WHERE running.agent IS NOT NULL
    )
SELECT agent FROM (
    SELECT agent FROM counted UNION SELECT agent FROM logged UNION SELECT agent FROM talking
    UNION SELECT agent FROM speakers UNION SELECT agent FROM running UNION SELECT agent FROM journals UNION SELECT agent FROM channels
) AS every WHERE agent IS NOT NULL ORDER BY agent
