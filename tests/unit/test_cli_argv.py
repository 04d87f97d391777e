"""Text and options among the words of a call."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.app import app_with, overview
from recollect.cli.argv import separate_text

PROGRAM: Any = typer.main.get_command(app_with(None))


@pytest.mark.parametrize(
    ("words", "received"),
    [
        (["remember", "x", "--name", "y"], ["remember", "x", "--name", "y"]),
        (["remember", "- [ ] x", "--name", "y"], ["remember", "--name", "y", "--", "- [ ] x"]),
        (["--home", "a b", "remember", "-5", "--json"], ["--home", "a b", "remember", "--json", "--", "-5"]),
        (["note", "upsert", "low", "-5"], ["note", "upsert", "--", "low", "-5"]),
        (["remember", "--name", "- x", "y"], ["remember", "--name", "- x", "y"]),
        (["remember", "--name=- x", "- y"], ["remember", "--name=- x", "--", "- y"]),
        (["remember", "--", "--name", "-5"], ["remember", "--", "--name", "-5"]),
        (["remember", "---\ntitle: x\n---"], ["remember", "--", "---\ntitle: x\n---"]),
        (["remember", "-"], ["remember", "-"]),
        (["remember", "--nmae", "x"], ["remember", "--nmae", "x"]),
        (["remember", "- x", "--name"], ["remember", "- x", "--name"]),
        (["nonsense", "-5"], ["--", "nonsense", "-5"]),
    ],
)
def test_text_that_begins_with_a_dash_stands_behind_the_options(words: list[str], received: list[str]) -> None:
    assert separate_text(PROGRAM, words) == received


OPTIONS = st.sampled_from(
    [["--json"], ["--tag", "a"], ["--name", "- b"], ["--importance=0.1"], ["--category", "tasks"]]
)
TEXT = st.text(min_size=1).filter(lambda text: text != "-").map(lambda text: f"- {text}")


@given(before=st.lists(OPTIONS), text=TEXT, after=st.lists(OPTIONS))
def test_any_text_after_a_dash_and_a_space_is_one_argument(
    before: list[list[str]], text: str, after: list[list[str]]
) -> None:
    options = [word for option in (*before, *after) for word in option]
    words = ["remember", *(word for one in before for word in one), text, *(word for one in after for word in one)]
    assert separate_text(PROGRAM, words) == ["remember", *options, "--", text]


def described(command: Any, parent: Any) -> list[str]:
    """The help of a command and of all commands below it."""
    context = typer.Context(command, parent=typer.Context(parent, info_name="recollect"), info_name=command.name)
    below = getattr(command, "commands", {}).values()
    return [command.get_help(context), *(text for one in below for text in described(one, command))]


@pytest.mark.parametrize("word", sorted(PROGRAM.commands.keys() - {"demo"}))
def test_an_app_with_one_command_has_it_as_the_whole_app_has_it(word: str) -> None:
    reduced: Any = typer.main.get_command(app_with(word))
    assert len(reduced.commands) < len(PROGRAM.commands) / 2
    assert described(reduced.commands[word], reduced) == described(PROGRAM.commands[word], PROGRAM)


@pytest.mark.parametrize("word", [None, "nonsense", "", "demo"])
def test_without_a_known_command_and_for_the_demo_the_app_is_whole(word: str | None) -> None:
    whole: Any = typer.main.get_command(app_with(word))
    assert [*whole.commands] == [*PROGRAM.commands]


def test_the_overview_names_the_commands_with_their_help_in_their_order() -> None:
    short: Any = typer.main.get_command(overview())
    found = {name: command.get_short_help_str(200) for name, command in short.commands.items()}
    assert found == {name: command.get_short_help_str(200) for name, command in PROGRAM.commands.items()}
    assert [*found] == [*PROGRAM.commands]
