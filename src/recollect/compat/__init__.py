"""The vocabulary of other systems, which recollect speaks for the programs that already use it.

`dashboard` and `dashboard_types` are the routes under `/api/memory` of an agent dashboard: `agentId`, `chatId`, the
roles `user` and `agent`, ids in milliseconds. `figures` has the camelCase figures of that dashboard's compaction, which
jobs count and store. `forge` has the MCP tools of the forge agent runtime, `forge_reminder` and
`forge_memory_checkpoint`. `store_tools` reads and writes the stores `working`, `session` and `knowledge` of a model's
memory tools, in the shapes that those tools return. Everything else uses the words of the glossary in
docs/architecture.md; `rest` and `mcp` only mount what is here.
"""
