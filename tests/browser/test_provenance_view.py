"""The provenance of an entry in the browser: a trail down to the turn, in plain words, and of one memory only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from surfaces.server import Server, serving

import recollect

Visit = Callable[..., Page]

DECISION = "We decided to deploy on Tuesdays, because the team is complete then."


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Server]:
    """A server over a memory that may have several workspaces."""
    with recollect.open(tmp_path / "several") as home, serving(home) as running:
        yield running


def test_a_trail_leads_from_an_entry_through_its_sources_to_the_turn(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    conv = memory.conversations.start()
    for number in range(60):
        conv.user(f"Small talk {number}")
    conv.user(DECISION, speaker="Ana")
    for number in range(60, 120):
        conv.user(f"Small talk {number}")
    said = next(event for event in conv.events(limit=200) if event.content == DECISION)
    decision = memory.remember(DECISION, name="deploy day", origin="user", evidence=[f"event:{conv.id}:{said.id}"])
    plan = memory.remember("The plan of the team", name="plan", evidence=[f"entry:{decision.id}"])
    page = visit(server, f"#/memory/{plan.id}")
    trail = page.locator(".trail")
    expect(trail.locator("li li")).to_contain_text(f"Ana in conversation {conv.ref_code}")
    expect(trail.locator("li li")).to_contain_text("Said by the user")
    expect(trail.locator("li li .quote")).to_have_text(DECISION)
    trail.get_by_role("link", name="deploy day").click()
    expect(page.get_by_role("article").get_by_role("heading", level=1, name="deploy day")).to_be_focused()
    expect(page.locator(".facts")).to_contain_text("Said by the user")
    trail.get_by_role("link", name=f"conversation {conv.ref_code}").click()
    expect(page).to_have_url(f"{server.url}/#/conversations/{conv.ref_code}/{said.seq}")
    turn = page.locator(".said.sought")
    expect(turn).to_contain_text(DECISION)
    expect(turn).to_be_focused()
    expect(turn).to_be_in_viewport()


def test_what_came_from_a_tool_or_from_outside_is_marked(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    conv = memory.conversations.start()
    call = {"id": "c", "type": "function", "function": {"name": "port", "arguments": "{}"}}
    conv.assistant("Let me look.", tool_calls=[call])
    result = conv.tool("The port is 5433", "c")
    memory.remember(
        "The port is 5433",
        name="port",
        origin="tool",
        evidence=[f"event:{conv.id}:{result.id}", "file:ana/lessons.md", "import:chatgpt:export.json", "a guess"],
    )
    page = visit(server, "#/memory/port")
    expect(page.locator(".entry-row .outer")).to_have_text("Reported by a tool")
    items = page.locator(".trail li")
    expect(items.nth(0).locator(".outer")).to_have_text("Reported by a tool")
    expect(items.nth(1)).to_have_text("The file ana/lessons.md of the vault")
    expect(items.nth(2)).to_have_text("An import: chatgpt:export.json")
    expect(items.nth(3)).to_have_text("Evidence given as a guess")
    expect(page.locator(".facts .outer")).to_have_text("Reported by a tool")
    items.nth(0).get_by_role("link").click()
    expect(page.locator(".result", has_text="The port is 5433")).to_be_visible()


def test_sources_that_are_gone_erased_or_in_the_trash_are_named_as_such(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    conv = memory.conversations.start()
    said = conv.user("The password is correct horse battery staple")
    conv.assistant("Noted.")
    lost, trashed = memory.remember("Lost"), memory.remember("Thrown away", name="scrap")
    evidence = [f"event:{conv.id}:{said.id}", f"entry:{lost.id}", f"entry:{trashed.id}"]
    made = memory.remember("Made of what is gone", evidence=evidence)
    conv.erase(said.seq)
    memory.forget(lost.id, erase=True)
    memory.forget("scrap")
    page = visit(server, f"#/memory/{made.id}")
    items = page.locator(".trail li")
    expect(items.nth(0)).to_have_text("Erased turn")
    expect(items.nth(1)).to_have_text("A note that no longer exists, or that this agent may not read")
    expect(items.nth(2)).to_contain_text("scrap, in the trash")
    items.nth(2).get_by_role("link", name="scrap").click()
    expect(page.get_by_role("article")).to_contain_text("This was forgotten")


def test_many_sources_are_folded_and_an_entry_without_any_says_so(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    sources = memory.remember_many([recollect.Add(f"Source {number}", name=f"source {number}") for number in range(12)])
    memory.remember("Made of many", name="made", evidence=[f"entry:{one.id}" for one in sources])
    page = visit(server, "#/memory/made")
    trail = page.locator(".trail")
    expect(trail.get_by_role("link", name="source 7")).to_be_visible()
    expect(trail.get_by_role("link", name="source 8")).to_be_hidden()
    trail.get_by_text("4 more sources").click()
    trail.get_by_role("link", name="source 11").click()
    expect(page.get_by_text("No source is recorded.")).to_be_visible()


def test_a_trail_shows_nothing_of_another_agent_or_workspace(several: Server, visit: Visit) -> None:
    home = several.home
    secrets = []
    for memory in (home.agent("bob"), home.agent("default", "shop")):
        conv = memory.conversations.start()
        said = conv.user("The heliotrope is blue")
        secrets += [
            f"event:{conv.id}:{said.id}",
            f"entry:{memory.remember('The heliotrope is blue', name='secret').id}",
        ]
    mine = home.agent("default").remember("Made of what is not mine", name="mine", evidence=secrets)
    page = visit(several, f"#/memory/{mine.id}")
    items = page.locator(".trail li")
    expect(items).to_have_count(4)
    assert all("may not read" in text for text in items.all_text_contents())
    assert "heliotrope" not in page.content()


def test_a_late_trail_does_not_appear_in_another_memory(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    source = memory.remember("The heliotrope is blue", name="heliotrope")
    memory.remember("Made of it", name="made", evidence=[f"entry:{source.id}"])
    server.home.agent("bob").remember("Made by bob", name="made")
    held: list[Route] = []
    page = visit(
        server,
        "#/memory/made",
        prepare=lambda page: page.route(
            "**/provenance*",
            lambda route: held.append(route) if "agent=default" in route.request.url else route.continue_(),
        ),
    )
    expect(page.locator(".content")).to_have_text("Made of it")
    page.goto(f"{server.url}/#/memory/made?agent=bob")
    expect(page.locator(".content")).to_have_text("Made by bob")
    assert len(held) > 0
    with page.expect_response("**/provenance*agent=default*"):
        for route in held:
            route.continue_()
    expect(page.get_by_text("No source is recorded")).to_be_visible()
    assert "heliotrope" not in page.content()


def test_html_in_a_trail_is_shown_and_never_run(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    hostile = '<img src=x onerror="window.hurt = 1"><script>window.hurt = 1</script>'
    conv = memory.conversations.start()
    said = conv.user(hostile, speaker="<b>Ana</b>")
    source = memory.remember(hostile, name="<svg onload=window.hurt=1>", origin="external")
    evidence = [f"event:{conv.id}:{said.id}", f"entry:{source.id}", f"file:{hostile}", "javascript:window.hurt=1"]
    memory.remember("Made of it", name="made", evidence=evidence)
    page = visit(server, "#/memory/made")
    trail = page.locator(".trail")
    expect(trail.locator(".quote")).to_have_text([hostile, hostile])
    expect(trail).to_contain_text("<b>Ana</b> in conversation")
    assert trail.locator("img, script, svg, b").count() == 0
    assert page.evaluate("window.hurt") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_trail_can_be_read_on_a_phone(server: Server, visit: Visit, scheme: str) -> None:
    memory = server.home.agent("default")
    below = memory.remember("Donaudampfschifffahrtsgesellschaft" * 5, name="Rhabarberbarbara" * 8, origin="tool")
    for depth in range(6):
        below = memory.remember(f"Level {depth}. الاجتماع في الساعة", evidence=[f"entry:{below.id}"], origin="tool")
    page = visit(server, f"#/memory/{below.id}", viewport={"width": 390, "height": 780}, color_scheme=scheme)
    expect(page.locator(".trail li")).to_have_count(6)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    look = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")
    assert page.evaluate(look) == {"poor": [], "nameless": [], "edgeless": [], "misbuilt": []}
    cut = "(all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.innerText)"
    assert page.locator(".trail p, .trail a").evaluate_all(cut) == []
