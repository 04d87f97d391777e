"""The memory as an MCP server, over stdio and HTTP. It translates to one call of the library and back, nothing else."""
