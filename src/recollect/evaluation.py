"""Evaluation of a memory on questions with known answers: whether contexts contain them, and how a model answers.

Read-only: it changes no entry, and records no recall.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from recollect import fencing
from recollect.answer_scores import answer_words, contains, exact_match, f1, interval
from recollect.clock import iso
from recollect.errors import ConfigError, Invalid, NotFound
from recollect.memory import Memory
from recollect.providers.base import LanguageModel, complete, prompt
from recollect.token_estimate import estimate_tokens

__all__ = ["PromptScores", "Question", "Score", "evaluate", "read_question"]

CONTEXT, NEWEST, NOTHING = "context", "newest", "no memory"
FIELDS = ("question", "answer", "evidence", "notes")
JOURNAL = 400
"""Maximum number of events in the prompt of the newest notes and turns."""
ANSWER_SECONDS = 300.0

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and what an answer to it needs."""

    text: str
    answers: tuple[str, ...] = ()
    """Texts of which one suffices."""
    evidence: tuple[str, ...] = ()
    """Texts that are all needed."""
    notes: tuple[str, ...] = ()
    """Names or ids of entries that are all needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A mean over the questions, with its 95% confidence interval by bootstrap."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptScores:
    """The scores of one way to fill a prompt."""

    prompt: str
    """`context`, `newest` (notes and turns) or `no memory`."""
    budget: int
    tokens: float
    """Its mean length, estimated."""
    held: Score
    """How often the prompt contains what the answer needs."""
    missed: tuple[str, ...]
    """The questions for which it does not."""
    f1: Score | None = None
    """Of a language model's answers, over the questions that have an expected answer."""
    exact: Score | None = None


@dataclass(frozen=True, slots=True)
class _FilledPrompt:
    text: str
    ids: Collection[str]
    """The entries that it contains, at least in part."""


def read_question(row: object) -> Question:
    """Return the question that a JSON value describes.

    Raises Invalid if it describes none.
    """
    if not isinstance(row, Mapping):
        raise Invalid("it is not a JSON object")
    if unknown := [str(name) for name in row if name not in FIELDS]:
        raise Invalid(f"it has the unknown field {unknown[0]!r}; the fields are {', '.join(FIELDS)}")
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise Invalid("its question is missing or blank")
    answers, evidence, notes = (_texts(row, name) for name in FIELDS[1:])
    if not (answers or evidence or notes):
        raise Invalid("it has no answer, evidence or notes to check for")
    return Question(text=text, answers=answers, evidence=evidence, notes=notes)


def _texts(row: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Return the texts of a field, which is one text or a list; numbers are converted."""
    value = row.get(name)
    values = value if isinstance(value, list) else [] if value is None else [value]
    texts = []
    for one in values:
        text = "" if isinstance(one, bool) or not isinstance(one, str | int | float) else str(one)
        if not answer_words(text):
            raise Invalid(f"its {name} must be a text that contains a word, or a list of such texts")
        texts.append(text)
    return tuple(texts)


def evaluate(
    mem: Memory,
    questions: Sequence[Question],
    *,
    budgets: Sequence[int],
    answers: bool = False,
    progress: Progress = lambda part, done, total: None,
) -> list[PromptScores]:
    """Return the scores of contexts and of the newest notes and turns, within each budget, and of no memory.

    With `answers` the configured language model answers every question that has an expected answer, once from each
    prompt. `progress` is called with the part of the work, how much of it is done, and its total.

    Raises Invalid without questions or if an answer of the model could be compared with none, NotFound if an expected
    note does not exist, ConfigError if no language model is configured, and Unavailable if it fails.
    """
    if not questions:
        raise Invalid("there are no questions")
    model = _model(mem, questions) if answers else None
    needed = [_ids(mem, question) for question in questions]
    newest = list(_newest(mem, max(budgets)))
    ways: list[tuple[str, int, Callable[[str], _FilledPrompt]]] = [(NOTHING, 0, lambda _: _FilledPrompt("", ()))]
    for budget in dict.fromkeys(budgets):
        ways += [
            (CONTEXT, budget, partial(_context, mem, budget=budget)),
            (NEWEST, budget, partial(_filled, newest, budget)),
        ]
    scores = []
    for name, budget, fill in ways:
        part = f"{name}, {budget} tokens" if budget else name
        prompts, given = [], []
        for done, question in enumerate(questions):
            progress(part, done, len(questions))
            prompts.append(fill(question.text))
            if model is not None and question.answers:
                given.append((_answer(model, prompts[-1].text, question.text), question.answers))
        progress(part, len(questions), len(questions))
        held = [_holds(*one) for one in zip(prompts, questions, needed, strict=True)]
        scores.append(
            PromptScores(
                prompt=name,
                budget=budget,
                tokens=sum(estimate_tokens(one.text) for one in prompts) / len(prompts),
                held=_score(held),
                missed=tuple(question.text for question, there in zip(questions, held, strict=True) if not there),
                f1=_score([f1(*one) for one in given]) if given else None,
                exact=_score([exact_match(*one) for one in given]) if given else None,
            )
        )
    return scores


def _model(mem: Memory, questions: Sequence[Question]) -> LanguageModel:
    model = mem._services.model
    if model is None:
        raise ConfigError("no language model is configured to answer; set RECOLLECT_MODEL_NAME")
    if not any(question.answers for question in questions):
        raise Invalid("no question has an expected answer to compare those of the language model with")
    return model


def _ids(mem: Memory, question: Question) -> set[str]:
    try:
        return {mem.get(name).id for name in question.notes}
    except NotFound as error:
        raise NotFound(f"a note that the question {question.text!r} expects is missing: {error}") from None


def _holds(prompt: _FilledPrompt, question: Question, needed: set[str]) -> bool:
    if not needed <= set(prompt.ids) or not all(contains(prompt.text, text) for text in question.evidence):
        return False
    return bool(needed or question.evidence) or any(contains(prompt.text, answer) for answer in question.answers)


def _context(mem: Memory, text: str, *, budget: int) -> _FilledPrompt:
    built = mem._context(text, budget=budget)
    return _FilledPrompt(built.text, {item.entry_id for part in built.sections for item in part.items if item.entry_id})


def _newest(mem: Memory, budget: int) -> Iterator[tuple[str, str]]:
    """Yield the newest notes and turns as lines, each with the id of its entry or an empty one."""
    notes = mem.list(transcripts=False, limit=min(max(budget // 4, 1), 1_000))
    turns = mem.conversations.journal(max(mem.conversations.last_event() - JOURNAL, 0), limit=JOURNAL)
    found = [(entry.created_at, entry.content, entry.id) for entry in notes]
    found += [(event.created_at or 0, event.content, "") for event in reversed(turns) if event.is_message]
    for at, content, entry_id in sorted(found, key=lambda one: one[0], reverse=True):
        yield f"- {fencing.one_line(content)} ({iso(at)[:10]})", entry_id


def _filled(lines: Sequence[tuple[str, str]], budget: int, _: str) -> _FilledPrompt:
    """Return the lines that fit into the budget; the question is ignored."""
    chosen: list[tuple[str, str]] = []
    size = 0
    for line, entry_id in lines:
        size += estimate_tokens(line) + 1
        if size > budget:
            break
        chosen.append((line, entry_id))
    return _FilledPrompt("\n".join(line for line, _ in chosen), {entry_id for _, entry_id in chosen if entry_id})


def _answer(model: LanguageModel, memory: str, question: str) -> str:
    asked = f"{memory}\n\nQuestion: {question}" if memory else f"Question: {question}"
    messages = [{"role": "system", "content": prompt("answer")}, {"role": "user", "content": asked}]
    return complete(model, messages, timeout=ANSWER_SECONDS)


def _score(values: Sequence[float]) -> Score:
    low, high = interval(values)
    return Score(mean=sum(values) / len(values), low=low, high=high)
