"""The page in the browser: plain files, served as they are. It talks to the routes under /v1 like everybody else."""
