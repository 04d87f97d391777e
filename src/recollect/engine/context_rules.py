"""Standing rules, preferences and notes of the account, which every context shows, with any command."""

from dataclasses import replace

from recollect import standing_rules
from recollect.engine import context_filling
from recollect.engine.context_items import DERIVED, Reach, beginning, is_shown_elsewhere, item_of
from recollect.engine.recall import recall
from recollect.engine.recall_request import Request
from recollect.model.context import Item
from recollect.model.entry import Category, Kind, Scope

__all__ = ["standing"]

RULES_READ = 50
"""Number of entries with words of a rule that are looked at."""
NOTES_AMONG = 1_000
"""Number of newest entries that are searched for notes by their scope, which no index has."""
PHRASE_AMONG = 300
"""Number of newest entries that are searched for a phrase of stop words, which no index has either."""


def standing(reach: Reach, request: Request, asked: bool) -> tuple[Item, ...]:
    """Return notes that hold whatever the command is, those of the account first, then the newest first.

    Without a command (`asked` is false), the notes of the channel and the conversation are among them.
    """
    scopes = (Scope.ACCOUNT,) if asked else tuple(scope for scope in Scope if scope is not Scope.WORKSPACE)
    near = replace(reach, filters=replace(reach.filters, scopes=scopes))
    notes = [
        replace(note, text=beginning(note.text)) for note in near.newest("context.notes", RULES_READ, among=NOTES_AMONG)
    ]
    phrases = reach.newest("context.phrase", RULES_READ, among=PHRASE_AMONG, needle=standing_rules.PHRASE)
    filters = replace(reach.filters, kinds=(Kind.NOTE,))
    hits = recall(
        reach.stores,
        replace(request, query=standing_rules.QUERY, mode="keyword", limit=RULES_READ, filters=filters),
    )
    entries_found = (hit.entry for _, hit in hits)
    rules = [
        item_of(entry, entry.content)
        for entry in entries_found
        if entry.category not in (Category.TASKS, *DERIVED) and not is_shown_elsewhere(entry)
    ]
    stated = [item for item in (*phrases, *rules) if standing_rules.is_rule(item.text)]
    stated.sort(key=lambda item: (item.at or 0, item.entry_id or ""), reverse=True)
    shortened = (replace(item, text=context_filling.passage(item.text, standing_rules.QUERY)) for item in stated)
    return (*notes, *shortened)
