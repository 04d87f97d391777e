"""The fields of an entry are described once: operations, columns, schemas and the page's form agree with it."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from pydantic import ValidationError

import recollect
from recollect.mcp.notes import TOOLS
from recollect.model.entry import COLUMNS, TAGS, Entry, Kind
from recollect.model.fields import CONTENT_BYTES, LINE_LENGTH, limits_of
from recollect.model.operation import ENTRY_FIELDS, WRITABLE, Add
from recollect.storage import columns, entries

ENTRY = Entry(id="1", seq=1, kind=Kind.NOTE, content="We deploy.", created_at=1, updated_at=1, content_hash="h")
CHANGED = {"content": {"content_hash": "other"}, "tags": {"tags": ("ops",)}, "importance": {"importance": 0.7}}


def test_every_field_of_an_operation_is_a_field_of_an_entry_with_limits() -> None:
    stored = {ENTRY_FIELDS.get(one.name, one.name) for one in fields(Add)} | set(WRITABLE)
    assert stored <= limits_of(Entry).keys()


# An origin is written only together with a content.
@pytest.mark.parametrize("name", [name for name in WRITABLE if name != "origin"])
def test_a_write_to_a_field_changes_the_version(name: str) -> None:
    changes = CHANGED.get(name, {name: "something else"})
    assert replace(ENTRY, **changes).version != ENTRY.version  # type: ignore[arg-type]


def test_an_entry_survives_its_row_and_its_snapshot() -> None:
    entry = replace(ENTRY, tags=("ops", "day"), category=recollect.Category.TASKS, vault_id=7)
    hashed = replace(entry, content_hash=entries.content_hash(entry.content), concept_tags=("deploy",))
    row = columns.to_row(hashed, 5)
    assert columns.to_columns(hashed, 5) == dict(zip(columns.COLUMNS, row, strict=True))
    assert columns.from_row(row, hashed.content_hash, None, ()) == hashed
    exported = columns.to_export(columns.COLUMNS, row, entries.content_hash)
    assert columns.from_columns(dict(zip(columns.COLUMNS, exported, strict=True))) == hashed
    assert {hashed.content_hash, '["deploy"]'} < set(exported)
    assert columns.from_export(columns.COLUMNS, exported) == tuple(row)
    assert set(columns.to_columns(entry, 5)) == {*COLUMNS, "doc"}
    assert entries.from_snapshot("1", entries.snapshot(hashed)) == hashed


def test_the_tools_and_the_form_of_the_page_have_the_limits_of_the_library() -> None:
    arguments = next(tool for tool in TOOLS if tool.name == "memory").fn_metadata.arg_model
    for name, longest in {"name": "n" * LINE_LENGTH, "content": "c" * CONTENT_BYTES}.items():
        arguments.model_validate({"action": "remember", name: longest})
        with pytest.raises(ValidationError, match=f"at most {len(longest)} characters"):
            arguments.model_validate({"action": "remember", name: longest + "+"})
    tags = ["t" * TAGS.length] * TAGS.count
    arguments.model_validate({"action": "remember", "tags": tags})
    with pytest.raises(ValidationError, match=f"at most {TAGS.count} items"):
        arguments.model_validate({"action": "remember", "tags": [*tags, "t"]})
    with pytest.raises(ValidationError, match=f"at most {TAGS.length} characters"):
        arguments.model_validate({"action": "remember", "tags": ["t" * TAGS.length + "+"]})
    form = (Path(recollect.__file__).parent / "ui/static/views/form.js").read_text(encoding="utf-8")
    assert re.findall(r"maxlength: ([\d_]+)", form) == [str(LINE_LENGTH), "1_000_000"]
