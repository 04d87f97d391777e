"""The row of an addition in the log: short, and nothing of the entry is lost."""

import json
from dataclasses import replace
from typing import Any

import pytest

from recollect import Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.concepts import concept_tags
from recollect.storage import additions, entries

AT = 1_700_000_000_000
PLAIN = Entry(
    id="01890a5d-ac96-774b-bcce-b302099a8057",
    seq=7,
    kind=Kind.NOTE,
    content="Ana owns the deploy.",
    concept_tags=("ana", "owns", "deploy"),
    created_at=AT,
    updated_at=AT,
)


def test_a_plain_note_is_its_content_and_its_number() -> None:
    assert additions.to_log(entries.snapshot(PLAIN), AT) == '["Ana owns the deploy.",7]'


@pytest.mark.parametrize(
    "entry",
    [
        PLAIN,
        replace(PLAIN, importance=0.0),
        replace(PLAIN, importance=1.0, source="", name="deploy", aliases=("a", "b")),
        replace(PLAIN, created_at=0, updated_at=0),
        replace(PLAIN, concept_tags=()),
        replace(PLAIN, concept_tags=("other",), tags=("x",), context=""),
        replace(PLAIN, kind=Kind.CHUNK, lifetime=Lifetime.MID_TERM, first_event=1, last_event=2),
        replace(PLAIN, scope=Scope.ACCOUNT, category=Category.TASKS, origin=Origin.USER, evidence=("event:1",)),
        replace(PLAIN, valid_from=1, valid_until=2, validity_inferred=True, access_count=3),
        replace(PLAIN, content='say "scope":"account"'),
    ],
)
def test_every_field_comes_back(entry: Entry) -> None:
    values = entries.snapshot(entry)
    assert additions.of_log(additions.to_log(values, AT), AT) == json.loads(json.dumps(values))
    assert entries.from_snapshot(entry.id, additions.of_log(additions.to_log(values, AT), AT)) == replace(
        entry, content_hash=entries.content_hash(entry.content), context=entry.context or values.get("context")
    )


@pytest.mark.parametrize(
    "more", [{}, {"importance": 0.0}, {"created_at": 5}, {"kind": Kind.CHUNK}, {"evidence": ("e",)}]
)
def test_a_new_entry_is_encoded_like_its_fields_without_the_content(more: dict[str, Any]) -> None:
    for content in ("Ana owns the deploy.", 'a "quoted" \\ line\nand 🦊', "\u2028"):
        entry = replace(PLAIN, content=content, concept_tags=concept_tags(content), **more)
        quoted = json.dumps(content, ensure_ascii=False)
        others = additions.of_new(entry, AT)
        assert f"[{quoted},7{',' if others else ''}{others}]" == additions.to_log(entries.snapshot(entry), AT)


@pytest.mark.parametrize(
    ("content", "tags"),
    [
        ("We deploy on Tuesdays; Ana owns the deploy.", ["deploy", "tuesdays", "ana", "owns"]),
        ("Der Hafenmeister öffnet die Schleuse.", ["der", "hafenmeister", "öffnet", "die", "schleuse"]),
        ("pip install recollect==0.1.0", ["0.1.0", "pip", "install", "recollect"]),
        ("Нужно купить 1,000 марок", ["нужно", "купить", "марок"]),
        ("東京タワーで会いましょう", None),
    ],
)
def test_what_a_row_leaves_out_is_the_same_in_every_version(content: str, tags: list[str] | None) -> None:
    """If this fails, stored logs change their meaning: let `to_log` write a field before its derivation changes."""
    read = additions.of_log(json.dumps([content, 7]), AT)
    expected = {"kind": "note", "scope": "workspace", "lifetime": "long_term", "importance": 0.5, "origin": "agent"}
    expected |= {"seq": 7, "content": content, "source": "agent", "created_at": AT, "updated_at": AT}
    assert read == expected | ({"concept_tags": tags} if tags else {})


def test_a_row_of_an_older_version_is_read_as_it_is() -> None:
    values = json.loads(json.dumps(entries.snapshot(replace(PLAIN, importance=0.0))))
    assert additions.of_log(json.dumps(values), AT) == values


@pytest.mark.parametrize("written", ["[]", "[1, 2]", '["text"]', '["text", 1, 2]', "7", '"text"', "{", "[1, 2, 3, 4]"])
def test_a_damaged_row_is_a_value_error(written: str) -> None:
    with pytest.raises(ValueError):
        additions.of_log(written, AT)


def test_the_number_of_an_entry_is_raised_in_either_form() -> None:
    assert additions.renumbered('["text",7,{"name":"n"}]', 3) == '["text",10,{"name":"n"}]'
    assert additions.renumbered('{"seq":7}', 3) == '{"seq":10}'
    assert additions.renumbered('{"content":"x"}', 3) == '{"content":"x"}'
    assert additions.renumbered(None, 3) is None
