-- Queries over all agents of a file. Only the home uses them, to know whom to check and copy; never an agent.

-- name: agents
SELECT agent FROM counters UNION SELECT agent FROM operations UNION SELECT agent FROM conversations
UNION SELECT agent FROM channels ORDER BY agent
