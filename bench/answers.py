"""Answers from `context(question)` alone, next to other prompts of the same size: F1 and exact match, without a judge.

    python bench/answers.py [FOLDER] --no-model [--questions 0]    # what the prompts contain; 0: of every question
    python bench/answers.py [FOLDER] [--minutes 30] [--out FILE]   # SmolLM2 135M, started by the bench
    python bench/answers.py [FOLDER] --url https://HOST/v1 --model NAME --max-calls N  # OPENAI_API_KEY is sent if set

Questions of LoCoMo and LongMemEval are drawn by seed, several for each seed, and every one is asked with each way to
fill the prompt: no memory, the newest turns, the first turns of FTS5 (porter), `context(question)`, each within 500,
1,000 and 2,000 tokens, and the whole history where it fits the model. The model answers at temperature 0 with at most
32 tokens. Scored are F1 and exact match by words (`recollect.answer_scores`), and without a model whether the expected
answer stands in the prompt, question included: its words next to each other, and the share of its words anywhere.
Intervals are 95 %, by bootstrap over the questions.

Every answer is a line of `--out`; the same command continues where it was stopped. `--minutes`, `--max-calls` and
`--max-tokens` (of prompts) end a run early. It goes from the smallest budget to the largest, and the questions are
shuffled: of each budget those are reported that were asked in every way, and they are a sample.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
from context_recall import BUDGETS, Received, fill, filled
from local_model import CONTEXT_TOKENS, language_model
from question_sets import Query, Task, read

import recollect
from recollect.answer_scores import contains, exact_match, f1, interval, words_in
from recollect.providers.local import LocalEmbedder
from recollect.text import estimate_tokens

SETS = ("locomo", "longmemeval_s")
ANSWER_TOKENS = 32
NEVER = 10**9
WHOLE = "whole history"
INSTRUCTIONS = (
    "Answer the question about past conversations in as few words as possible: a name, a date, a number or a short "
    "phrase. Do not explain."
)
MEASURES = ("F1", "exact", "answer in the prompt", "its words")


@dataclass(frozen=True)
class Asked:
    """A question of a sample."""

    set: str
    seed: int
    task: Task
    query: Query


@dataclass(frozen=True)
class Way:
    """A way to fill the prompt."""

    name: str
    budget: int
    block: Callable[[Received, Query], str]

    @property
    def title(self) -> str:
        return f"{self.name}, {self.budget:,} tokens" if self.budget else self.name


def ways() -> list[Way]:
    """All ways, the dearest last."""
    found = [Way("no memory", 0, lambda received, query: "")]
    for budget in BUDGETS:
        found += [
            Way(
                "newest turns",
                budget,
                lambda received, query, b=budget: filled(received.newest(query), b, estimate_tokens),
            ),
            Way("FTS5", budget, lambda received, query, b=budget: filled(received.fts5(query), b, estimate_tokens)),
            Way(
                "context(question)",
                budget,
                lambda received, query, b=budget: received.mem.context(query.text, budget=b).text,
            ),
        ]
    found.append(Way(WHOLE, 0, lambda received, query: filled(iter(received.task.docs), NEVER, estimate_tokens)))
    return found


def sample(folder: Path, name: str, seeds: Sequence[int], size: int) -> list[Asked]:
    """So many questions for each seed, none twice; all of them, in one sample, if the size is 0."""
    everything = [(task, query) for task in read(folder, name) for query in task.scored if query.answer.strip()]
    if not size:
        return [Asked(name, seeds[0], task, query) for task, query in everything]
    chosen: list[Asked] = []
    for seed in seeds:
        taken = {one.query.id for one in chosen}
        left = [(task, query) for task, query in everything if query.id not in taken]
        drawn = random.Random(seed).sample(left, min(size, len(left)))
        chosen += [Asked(name, seed, task, query) for task, query in drawn]
    return chosen


def messages(block: str, question: str) -> list[dict[str, str]]:
    memory = f"{block}\n\n" if block else ""
    return [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": f"{memory}Question: {question}\nShort answer:"},
    ]


@dataclass
class Model:
    """A model behind the OpenAI interface."""

    url: str
    name: str

    def answer(self, block: str, question: str) -> str:
        body = {
            "model": self.name,
            "messages": messages(block, question),
            "temperature": 0,
            "seed": 1,
            "max_tokens": ANSWER_TOKENS,
        }
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        asked = urllib.request.Request(f"{self.url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked, timeout=3_600) as response:
            text = str(json.load(response)["choices"][0]["message"]["content"] or "").strip()
        return text.splitlines()[0] if text else ""


@dataclass
class Limits:
    """When a run ends early."""

    minutes: float
    calls: int
    tokens: int
    started: float = field(default_factory=time.monotonic)
    spent_calls: int = 0
    spent_tokens: int = 0

    def reached(self) -> bool:
        spent = (time.monotonic() - self.started) / 60, self.spent_calls, self.spent_tokens
        return any(one >= limit for one, limit in zip(spent, (self.minutes, self.calls, self.tokens), strict=True))


@dataclass
class Run:
    """The answers so far, in memory and in a file."""

    out: Path | None
    settings: str
    rows: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    def load(self) -> None:
        if self.out is None or not self.out.exists():
            return
        for line in self.out.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["settings"] != self.settings:
                raise SystemExit(f"{self.out} has answers of other settings; name another file with --out")
            self.rows[row["set"], row["id"], row["way"]] = row

    def add(self, row: dict[str, Any]) -> None:
        self.rows[row["set"], row["id"], row["way"]] = row
        if self.out is not None:
            with self.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**row, "settings": self.settings}, ensure_ascii=False) + "\n")


def scored(asked: Asked, way: Way, block: str, answer: str | None) -> dict[str, Any]:
    prompt, expected = f"{block}\n{asked.query.text}", asked.query.answer
    row: dict[str, Any] = {
        "set": asked.set,
        "id": asked.query.id,
        "seed": asked.seed,
        "way": way.title,
        "tokens": estimate_tokens(block),
        "answer in the prompt": float(contains(prompt, expected)),
        "its words": words_in(prompt, expected),
    }
    if answer is not None:
        row |= {"answer": answer, "F1": f1(answer, [expected]), "exact": float(exact_match(answer, [expected]))}
    return row


def stores(asked: Sequence[Asked]) -> Iterator[tuple[Received, list[Asked]]]:
    """Each store that is asked, filled, with its questions."""
    grouped: dict[tuple[str, str], list[Asked]] = defaultdict(list)
    for one in asked:
        grouped[one.set, one.task.name].append(one)
    with (
        tempfile.TemporaryDirectory() as place,
        recollect.open(Path(place) / "answers.db", embedder=LocalEmbedder()) as home,
    ):
        for number, ones in enumerate(grouped.values()):
            mem = home.agent(f"agent-{number}")
            belongs = fill(mem, ones[0].task, end=True, notes=False)
            yield Received(ones[0].task, mem, belongs, apsw.Connection(":memory:")), ones


def blocks(asked: Sequence[Asked]) -> Iterator[tuple[Asked, Way, str]]:
    """Every prompt; the questions in the order of the sample, not of the stores, so that a part of them is a sample."""
    made: dict[str, list[tuple[Way, str]]] = {}
    for received, ones in stores(asked):
        for one in ones:
            made[one.set + one.query.id] = [(way, way.block(received, one.query)) for way in ways()]
            print(f"\rprompts of {len(made)} of {len(asked)} questions", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for one in asked:
        for way, block in made[one.set + one.query.id]:
            yield one, way, block


def ask(run: Run, asked: Sequence[Asked], model: Model | None, limits: Limits, room: int) -> None:
    """Answer what is not answered yet, until a limit is reached."""
    left = sorted(blocks(asked), key=lambda job: (job[1].name == WHOLE, job[1].budget))
    for number, (one, way, block) in enumerate(left, 1):
        if (one.set, one.query.id, way.title) in run.rows:
            continue
        if model is None:
            run.add(scored(one, way, block, None))
            continue
        tokens = sum(estimate_tokens(message["content"]) for message in messages(block, one.query.text))
        if tokens > room:  # the whole history, if the model cannot read it
            continue
        if limits.reached():
            print(f"\nstopped by a limit after {limits.spent_calls} calls", file=sys.stderr)
            return
        run.add(scored(one, way, block, model.answer(block, one.query.text)))
        limits.spent_calls += 1
        limits.spent_tokens += tokens
        seconds = time.monotonic() - limits.started
        pace = f"{limits.spent_tokens / seconds:.0f} tokens/s" if seconds else ""
        print(f"\r{number} of {len(left)} prompts, {limits.spent_tokens:,} tokens, {pace}   ", end="", file=sys.stderr)
    print(file=sys.stderr)


def report(run: Run, asked: Sequence[Asked], model: bool) -> None:
    """Print the means, of each budget over the questions that were asked in every way."""
    measures = MEASURES if model else MEASURES[2:]
    for name in dict.fromkeys(one.set for one in asked):
        ids = {one.query.id for one in asked if one.set == name}
        print(f"\n{name}\n  {'':32}{'questions':>9}" + "".join(f"{one:>24}" for one in measures) + f"{'tokens':>8}")
        for budget, titles in by_budget().items():
            complete = {one for one in ids if all((name, one, title) in run.rows for title in titles)}
            for title in titles if complete else ():
                rows = [run.rows[name, one, title] for one in sorted(complete)]
                columns = "".join(f"{mean_of(rows, one):>24}" for one in measures)
                size = sum(row["tokens"] for row in rows) / len(rows)
                print(f"  {title:32}{len(rows):9}{columns}{size:8,.0f}", flush=True)
            if model and budget and complete:
                title = titles[-1]
                for seed in sorted({run.rows[name, one, title]["seed"] for one in complete}):
                    rows = [run.rows[name, one, title] for one in complete]
                    values = [row["F1"] for row in rows if row["seed"] == seed]
                    print(
                        f"  {'':4}seed {seed}: F1 of {title} {sum(values) / len(values):.3f} ({len(values)} questions)"
                    )


def by_budget() -> dict[int, list[str]]:
    """The titles of the ways of each budget, with no memory at 0 and the whole history at -1."""
    found: dict[int, list[str]] = {}
    for way in ways():
        found.setdefault(-1 if way.name == WHOLE else way.budget, []).append(way.title)
    return found


def mean_of(rows: Sequence[dict[str, Any]], measure: str) -> str:
    values = [row[measure] for row in rows]
    low, high = interval(values)
    return f"{sum(values) / len(values):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--questions", type=int, default=4, help="of each set and seed; 0 for all of a set")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--no-model", action="store_true", help="only what stands in the prompts")
    parser.add_argument("--url", help="a server with the OpenAI interface, up to /v1; default: the bench's own")
    parser.add_argument("--model", default="smollm2", help="the name of the model")
    parser.add_argument("--context", type=int, default=CONTEXT_TOKENS, help="tokens that the model can read")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--max-calls", type=int, default=1_000)
    parser.add_argument("--max-tokens", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="file for the answers, to continue later")
    arguments = parser.parse_args()
    pinned = [
        INSTRUCTIONS,
        arguments.model if not arguments.no_model else "",
        arguments.url or "",
        recollect.__version__,
    ]
    run = Run(arguments.out, hashlib.sha256(json.dumps(pinned).encode()).hexdigest()[:12])
    run.load()
    samples = [sample(arguments.folder, name, arguments.seeds, arguments.questions) for name in arguments.sets]
    asked = [one for place in range(max(map(len, samples))) for ones in samples for one in ones[place : place + 1]]
    room = arguments.context - ANSWER_TOKENS
    limits = Limits(arguments.minutes, arguments.max_calls, arguments.max_tokens)
    if arguments.no_model:
        ask(run, asked, None, limits, room)
    else:
        with nullcontext(None) if arguments.url else language_model() as address:
            url = arguments.url or f"{address}/v1"
            limits.started = time.monotonic()
            ask(run, asked, Model(url, arguments.model), limits, room)
    report(run, asked, not arguments.no_model)


if __name__ == "__main__":
    main()
