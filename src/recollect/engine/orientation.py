"""The orientation document: a context rendered as markdown, narrowed by a language model if one is given."""

from dataclasses import replace

from recollect import fencing
from recollect.engine import context_block
from recollect.errors import Unavailable
from recollect.model.context import (
    DECISIONS,
    LESSONS,
    NOTES,
    ORIENTATION,
    UNANSWERED_LINE,
    Context,
    OrientationDocument,
)
from recollect.providers.base import LanguageModel, complete, json_object, prompt

__all__ = ["orient"]

NARROWED = (DECISIONS, LESSONS, NOTES)
"""Sections that a model may narrow."""
GATE_SECONDS = 5.0


def orient(context: Context, command: str, model: LanguageModel | None) -> OrientationDocument:
    """Render the context as markdown. A model, if given, is called once, with a short timeout, to narrow it."""
    narrowed = context
    if model is not None:
        narrowed = _refined(context, command, model)
    lines = [f"# {ORIENTATION}", *(() if narrowed.answered else ("", UNANSWERED_LINE))]
    for section in narrowed.sections:
        lines += ["", f"## {section.name}", "", *section.lines()]
    markdown = "\n".join(lines) + "\n" if narrowed.sections else ""
    return OrientationDocument(markdown=markdown, context=narrowed, refined=narrowed is not context)


def _refined(context: Context, command: str, model: LanguageModel) -> Context:
    """Return the context with the decisions, lessons and notes that a model keeps; unchanged if the model fails."""
    chosen = [item for section in context.sections if section.name in NARROWED for item in section.items]
    if not chosen:
        return context
    listed = "\n".join(f"{number}. {fencing.one_line(item.text)}" for number, item in enumerate(chosen, 1))
    schema = {
        "type": "object",
        "required": ["keep"],
        "additionalProperties": False,
        "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
    }
    asked = [
        {"role": "system", "content": prompt("refine")},
        {"role": "user", "content": f"The task:\n{fencing.quoted(command)}\n\nThe memories:\n{listed}"},
    ]
    try:
        answer = json_object(complete(model, asked, schema=schema, timeout=GATE_SECONDS)).get("keep")
    except Unavailable:
        return context
    if not isinstance(answer, list) or not all(isinstance(number, int) for number in answer):
        return context
    kept = {number for number in answer if 1 <= number <= len(chosen)}
    for number, item in enumerate(chosen, 1):
        if item.beside is not None and kept & {number - 1, number}:
            kept |= {number - 1, number}
    if len(kept) == len(chosen):
        return context
    left = {id(item) for number, item in enumerate(chosen, 1) if number not in kept}
    sections = [
        replace(section, items=tuple(item for item in section.items if id(item) not in left))
        for section in context.sections
    ]
    block, tokens = context_block.joined(map(context_block.render, sections), context.answered)
    return replace(
        context,
        text=block,
        tokens=tokens,
        dropped=context.dropped + len(left),
        sections=tuple(section for section in sections if section.items),
    )
