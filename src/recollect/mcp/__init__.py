"""The memory as an MCP server, over stdio and HTTP. A thin adapter: each tool makes one call of the library."""
