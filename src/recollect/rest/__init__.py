"""The memory over HTTP: FastAPI routes by noun. A thin adapter: each route calls one method of the library."""
