"""Evaluation from the command line: how often contexts contain an answer, and how well a model answers from them."""

import json
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_agent
from recollect.cli.output import counted, document, line, remark, table
from recollect.cli.progress import progress
from recollect.errors import Invalid
from recollect.evaluation import PromptScores, Question, Score, evaluate, read_question
from recollect.locations import shown

__all__ = ["app"]

app = typer.Typer()
BUDGETS = (500, 1_000, 2_000)


@app.command(
    "evaluate",
    epilog=examples("evaluate questions.jsonl", "evaluate questions.jsonl --budget 800 --sample 50"),
)
@for_agent
def evaluate_questions(
    call: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Questions, one JSON object per line.")],
    budgets: Annotated[
        list[int] | None,
        typer.Option(
            "--budget", metavar="TOKENS", min=1, help="Length of the prompt; repeatable. [default: 500 1000 2000]"
        ),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Score the answers of the configured language model, too.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="NUMBER", min=1, help="Number of questions to ask, always the same ones."),
    ] = None,
) -> None:
    """Report how often the context of a question contains what its answer needs.

    A line has a `question` and one or more of `answer` (a text, or a list of alternatives), `evidence` (texts
    that must all be there) and `notes` (names or ids of notes that must all be present). Nothing in the memory changes.
    """
    questions = _questions(file)
    if sample is not None and sample < len(questions):
        questions = Random(1).sample(questions, sample)
    with progress() as advance, call.memory() as mem:
        scores = evaluate(mem, questions, budgets=budgets or BUDGETS, answers=answers, progress=advance)
    if call.json:
        document({"questions": len(questions), "prompts": [asdict(one) for one in scores]})
        return
    if not any(one.tokens for one in scores):
        remark(f"the memory of {call.agent} in {shown(call.home)}, workspace {call.workspace}, is empty")
    typer.echo(f"{counted(len(questions), 'question')}; in brackets the 95% confidence interval")
    header = ("prompt", "tokens", "holds the answer", "F1 of the answers", "exact answers")
    table(header, [_row(one) for one in scores])
    best = max((one for one in scores if one.prompt == "context"), key=lambda one: one.held.mean)
    for question in best.missed:
        typer.echo(f"missed in {best.budget} tokens: {line(question)}")


def _row(one: PromptScores) -> tuple[str, ...]:
    exact = "" if one.exact is None else _percent(one.exact)
    f1 = "" if one.f1 is None else f"{one.f1.mean:.2f} ({one.f1.low:.2f} to {one.f1.high:.2f})"
    return one.prompt, str(one.budget), _percent(one.held), f1, exact


def _percent(score: Score) -> str:
    return f"{score.mean:.0%} ({score.low:.0%} to {score.high:.0%})"


def _questions(file: Path) -> list[Question]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise Invalid(f"{str(file)!r} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise Invalid(f"{str(file)!r} cannot be read as UTF-8 text: {error}") from None
    found = [_question(file, number, one) for number, one in enumerate(lines, 1) if one.strip()]
    if not found:
        raise Invalid(f"{str(file)!r} has no questions; write one JSON object per line")
    return found


def _question(file: Path, number: int, written: str) -> Question:
    try:
        return read_question(json.loads(written))
    except (ValueError, RecursionError) as error:
        wrong = f"it is not valid JSON: {error}"
    except Invalid as error:
        wrong = str(error)
    raise Invalid(
        f'line {number} of {str(file)!r} is not a question: {wrong}; write {{"question": "…", "answer": "…"}}, or '
        '"evidence" or "notes" with a list instead of "answer"'
    )
