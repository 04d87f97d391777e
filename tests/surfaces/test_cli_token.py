"""Tokens from the command line: made, listed and revoked, for people and for programs, on every kind of location."""

from __future__ import annotations

from surfaces.command import Command

import recollect


def test_a_token_is_made_listed_and_revoked_in_words(cli: Command) -> None:
    assert cli("token", "list").err == "no tokens; create one with: recollect token create laptop\n"
    made = cli("token", "create", "laptop", "--workspace", "default", "--agent", "ana", "--right", "read")
    name, access, secret = made.lines
    assert name.startswith("laptop  ")
    assert access == "  access  read ana in default"
    assert secret.startswith("  secret  rcl_")
    assert made.err == "save the secret now: it cannot be shown again\n"
    header, row = cli("token", "list").lines
    assert header.split() == ["name", "access", "created", "id"]
    assert row.startswith("laptop  read ana in default  20")
    assert secret.split()[-1] not in row
    assert cli("token", "create", "laptop", code=4).err.startswith("recollect: a token 'laptop' already exists")
    assert cli("token", "revoke", "laptop").text.startswith("revoked laptop  ")
    assert cli("token", "list").text == ""
    assert cli("token", "list", "--all").lines[1].startswith("laptop")
    assert cli("token", "revoke", "laptop", code=3).err.startswith("recollect: there is no token 'laptop'")


def test_a_token_is_made_listed_and_revoked_in_json(cli: Command, location: str) -> None:
    made = cli("--home", location, "token", "create", "ci", "--expires", "2099-01-01", "--json").json
    assert made["secret"].startswith("rcl_")
    assert list(made["token"]) == list(recollect.Token.__dataclass_fields__)
    assert (made["token"]["agents"], made["token"]["workspace"], made["token"]["right"]) == (["*"], "*", "write")
    assert made["token"]["expires_at"] == 4_070_908_800_000
    assert cli("--home", location, "token", "list", "--json").json == [made["token"]]
    with recollect.open(location) as home:
        found = home.tokens.check(made["secret"])
        assert found is not None
        assert found.id == made["token"]["id"]
    revoked = cli("--home", location, "token", "revoke", made["token"]["id"], "--json").json
    assert revoked["revoked_at"] is not None
    assert cli("--home", location, "token", "list", "--json").json == []


def test_a_name_of_a_token_plays_no_tricks_on_a_terminal(cli: Command) -> None:
    refused = cli("token", "create", "lap\u202etop", code=2)
    assert "\\u202e" in refused.err
    assert "\u202e" not in refused.err
    assert cli("token", "list", "--json").json == []


def test_a_token_that_makes_no_sense_is_refused(cli: Command) -> None:
    for args in (["--right", "owner"], ["--expires", "2001-01-01"], ["--agent", "a/b"], ["--workspace", ""]):
        assert cli("token", "create", "laptop", *args, code=2).text == ""
    assert cli("token", "list", "--json").json == []


def test_a_token_is_narrowed_wherever_the_options_stand_and_by_their_old_names(cli: Command) -> None:
    def made(*args: str) -> list[object]:
        token = cli(*args, "--json").json["token"]
        return [token["workspace"], token["agents"]]

    assert made("token", "create", "a", "--workspace", "w", "--agent", "ana", "--agent", "ben") == ["w", ["ana", "ben"]]
    assert made("--workspace", "w", "--agent", "ana", "token", "create", "b") == ["w", ["ana"]]
    assert made("token", "create", "c", "--only-workspace", "w", "--only-agent", "ana") == ["w", ["ana"]]
    assert made("token", "create", "d") == ["*", ["*"]]
    assert "--only-" not in cli("token", "create", "--help").text
