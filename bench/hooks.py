"""Processor time of each hook: alone, handled by a process that an earlier hook started, and by a running
`recollect mcp`, in one run. The time that the other process spends on the hook is counted, too.

python bench/hooks.py [runs]
"""

import json
import os
import resource
import signal
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


class Bench:
    """A home, a transcript, and hooks on them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.transcript = folder / "home", fill(folder / "home", folder)
        self.environ = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
        self.sockets = folder / "recollect" / "hooks"

    def hook(self, event: str, session: str, *options: str) -> float:
        """Run a hook; return the milliseconds of its process."""
        said = {"session_id": session, "transcript_path": str(self.transcript), "prompt": "which port?"}
        words = [sys.executable, "-m", "recollect", "hook", event, "--home", str(self.home), *options]
        return milliseconds(words, json.dumps(said).encode(), self.environ)

    def resident(self) -> int:
        """Return the process that a hook has started."""
        (name,) = [one.stem for one in self.sockets.iterdir()]
        return int(name.rpartition("idle")[2])

    def medians(self, runs: int, name: str, *options: str, server: int = 0) -> dict[str, float]:
        """Return the median milliseconds of each event, with the mean of those that a server spends on it."""
        found = {}
        for event in EVENTS:
            before = spent(server) if server else 0.0
            own = statistics.median(self.hook(event, f"{name}-{run}", *options) for run in range(runs))
            found[event] = own + ((spent(server) - before) / runs if server else 0.0)
        return found


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        nothing = [milliseconds([sys.executable, "-c", "pass"], b"", bench.environ) for _ in range(runs)]
        alone = bench.medians(runs, "alone")
        keep = "--keep-running", "5"
        first = bench.hook("session-start", "first", *keep)
        resident = bench.resident()
        first += spent(resident)
        bench.medians(1, "warm", *keep)
        kept = bench.medians(runs, "kept", *keep, server=resident)
        os.kill(resident, signal.SIGTERM)
        words = [sys.executable, "-m", "recollect", "mcp", "--home", str(bench.home)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=bench.environ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
            server.stdin.write(json.dumps(ask).encode() + b"\n")
            server.stdin.flush()
            server.stdout.readline()
            bench.medians(1, "warmer")
            served = bench.medians(runs, "served", server=server.pid)
            server.communicate()
    print(f"{runs} runs, median of user and system time in ms; python -c pass: {statistics.median(nothing):.0f}")
    print(f"the hook that starts a process, with that process: {first:.0f}")
    print(f"{'hook':14} {'alone':>8} {'kept':>8} {'served':>8}")
    for event in EVENTS:
        print(f"{event:14} {alone[event]:8.0f} {kept[event]:8.0f} {served[event]:8.0f}")


if __name__ == "__main__":
    main()
