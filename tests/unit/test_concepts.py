"""Concept tags: what a text is about, by fixed rules."""

import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Add, Settings, Write
from recollect.concepts import LIMIT, LONGEST, concept_tags
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))


def test_words_of_the_glossary_come_first_then_compounds_then_words() -> None:
    assert concept_tags("Harbour lights: blue-green/deploy.yml before the router failover") == (
        "failover",
        "router",
        "blue-green/deploy.yml",
        "harbour",
        "lights",
        "blue",
        "green",
        "deploy",
    )


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("restore the BACKUPS", "backup"),
        ("networking is hard", "network"),
        ("ask chatgpt4", "gpt"),
        ("the s3 bucket", "s3"),
        ("a kv store", "kv"),
        ("una copia de seguridad diaria", "copia de seguridad"),
        ("la sauvegarde du serveur", "sauvegarde"),
        ("das Netzwerk steht", "netzwerk"),
        ("每天备份数据库", "备份"),
        ("毎日バックアップする", "バックアップ"),
        ("오늘백업했다", "백업"),
        ("ＶＬＡＮ twenty", "vlan"),
    ],
)
def test_the_glossary_is_found_wherever_it_stands(text: str, tag: str) -> None:
    assert concept_tags(text)[0] == tag


@pytest.mark.parametrize("text", ["css3 selectors", "mkv player", "kvetch loudly"])
def test_two_letters_of_the_glossary_are_no_part_of_other_words(text: str) -> None:
    assert not {"s3", "kv"} & set(concept_tags(text))


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("snake_case_name", ("snake-case-name", "snake", "case", "name")),
        ("src/app/main.rs", ("src/app/main.rs", "src", "app", "main")),
        ("node.js", ("node.js", "node")),
        ("Ünïcode-Wörter", ("ünïcode-wörter", "ünïcode", "wörter")),
        ("(parenthesised), “quoted”!", ("parenthesised", "quoted")),
        ("ﬁre ﬂy", ("fire", "fly")),
        ("ＦＵＬＬ width", ("full", "width")),
        ("repeat Repeat REPEAT again-and-again", ("again-and-again", "repeat")),
    ],
)
def test_tags_are_normalised(text: str, tags: tuple[str, ...]) -> None:
    assert concept_tags(text) == tags


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "!?…",
        "12345",
        "2026-03-16",
        "2026-03-16.md",
        "٣٤٥",
        "ab",
        "of to in",
        "é",
        "日",
        "かな",
        "カナ",
        "memory session search agent",
        "the and with",
        "pero porque también",
        "json yaml md txt",
        "x" * 33,
        "é" * 17,
        "字" * 11,
    ],
)
def test_what_says_nothing_is_left_out(text: str) -> None:
    assert concept_tags(text) == ()


@pytest.mark.parametrize("text", ["abc", "x" * 32, "é" * 16, "日本", "字" * 10, "かなカ", "한국", "v2x", "привет"])
def test_what_is_just_long_enough_is_taken(text: str) -> None:
    assert concept_tags(text) == (text,)


def test_the_first_eight_win() -> None:
    letters = "alpha bravo charlie delta echo foxtrot golf hotel india juliett"
    assert concept_tags(letters) == tuple(letters.split()[:8])
    for limit in range(-1, 12):
        assert concept_tags(letters, limit) == tuple(letters.split()[: max(0, min(limit, 8))])


def test_the_beginning_of_a_long_text_decides() -> None:
    assert concept_tags("harbour " + "the " * 500_000 + "lighthouse") == ("harbour",)


scripts = st.text(st.sampled_from(string.printable + "éßİΣ日本語かなカナ한국٣²½ﬁ＿‿·・ーａ\u0301\u200d😀"), max_size=80)


@given(st.one_of(st.text(max_size=80), scripts), st.integers(-2, 12))
def test_whatever_the_text_tags_are_few_short_different_and_the_same_again(text: str, limit: int) -> None:
    tags = concept_tags(text, limit)
    assert tags == concept_tags(text, limit)
    assert tags == concept_tags(text)[: max(0, limit)]
    assert len(tags) == len(set(tags)) <= LIMIT
    for tag in tags:
        assert 0 < len(tag.encode()) <= LONGEST
        assert tag == tag.strip()
        assert "_" not in tag
        assert not tag.isdigit()


def test_every_process_derives_the_same_tags() -> None:
    text = "Harbour lights 日本語 blue-green/deploy.yml before the router failover, pero también el glacier"
    script = f"from recollect.concepts import concept_tags; print(ascii(concept_tags({text!r})))"
    source = str(Path(recollect.__file__).parents[1])
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": source, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        ).stdout.strip()
        for seed in ("0", "1", "2")
    }
    assert said == {ascii(concept_tags(text))}


def test_tags_are_derived_when_an_entry_is_made_and_never_again(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", settings=WORDS_ALONE) as home:
        mem = home.agent("ana")
        entry = mem.remember("the router is in the cellar", name="router", tags=["house"])
        assert entry.concept_tags == ("router", "cellar")
        assert entry.tags == ("house",)
        mem.apply(Write("router", content="the gateway is in the attic"))
        mem.upsert("router", "the gateway is on the roof")
        assert mem.get("router").concept_tags == ("router", "cellar")
        mem.forget("router")
        assert mem.restore("router").concept_tags == ("router", "cellar")
        (many,) = mem.remember_many([Add("a gateway on the roof")])
        assert many.concept_tags == ("gateway", "roof")
        assert mem.recall("cellar") == []  # they are no words to be found by
