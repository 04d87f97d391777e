"""The browser page: static files, served as they are. It uses the routes under /v1 like any other client."""
