"""The memory over HTTP: FastAPI routes by noun. Each only translates to one method of the library and back."""
