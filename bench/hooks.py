"""Processor time of each hook: alone, and handled by a running `recollect mcp`, in one run.

python bench/hooks.py [runs]
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import recollect

EVENTS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def fill(home: Path, folder: Path) -> Path:
    """Store some notes, and write a transcript of 200 messages."""
    with recollect.open(home) as opened:
        mem = opened.agent("default")
        mem.remember_many(recollect.Add(f"Decision {n}: service {n} listens on port {5_000 + n}") for n in range(500))
    path = folder / "transcript.jsonl"
    with path.open("w") as file:
        for n in range(200):
            role = "assistant" if n % 2 else "user"
            message = {"role": role, "content": f"Message {n} about service {n}, which listens on a port."}
            file.write(json.dumps({"type": role, "message": message}) + "\n")
    return path


def milliseconds(command: list[str], given: bytes, environ: dict[str, str]) -> float:
    """Return the user and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=given, check=True, capture_output=True, env=environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000


def spent(process: int) -> float:
    """Return the milliseconds of processor time that a running process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def measure(home: Path, transcript: Path, environ: dict[str, str], runs: int, name: str) -> dict[str, float]:
    """Return the median milliseconds of each event."""
    medians = {}
    for event in EVENTS:
        taken = []
        for run in range(runs):
            told = {"session_id": f"{name}-{run}", "transcript_path": str(transcript), "prompt": "which port?"}
            words = [sys.executable, "-m", "recollect", "hook", event, "--home", str(home)]
            taken.append(milliseconds(words, json.dumps(told).encode(), environ))
        medians[event] = statistics.median(taken)
    return medians


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environ = {**os.environ, "XDG_RUNTIME_DIR": name}
        home = folder / "home"
        transcript = fill(home, folder)
        nothing = statistics.median(milliseconds([sys.executable, "-c", "pass"], b"", environ) for _ in range(runs))
        alone = measure(home, transcript, environ, runs, "alone")
        words = [sys.executable, "-m", "recollect", "mcp", "--home", str(home)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
            server.stdin.write(json.dumps(ask).encode() + b"\n")
            server.stdin.flush()
            server.stdout.readline()
            measure(home, transcript, environ, 1, "warm")
            before = spent(server.pid)
            served = measure(home, transcript, environ, runs, "served")
            inside = (spent(server.pid) - before) / runs / len(EVENTS)
            server.communicate()
    print(f"{runs} runs, median of user and system time in ms; python -c pass: {nothing:.0f}")
    print(f"{'hook':14} {'alone':>8} {'served':>8}")
    for event in EVENTS:
        print(f"{event:14} {alone[event]:8.0f} {served[event]:8.0f}")
    print(f"mean of a hook in the server, all events and its background work: {inside:.0f}")


if __name__ == "__main__":
    main()
