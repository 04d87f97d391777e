"""A memory to look at: what an agent and a small team might have kept over six weeks of building a web shop.

Always the same story, told up to a given moment; only ids differ. Further entries for size are made from word lists.
"""

import itertools
import random
from collections.abc import Iterator
from math import ceil
from typing import Any

from recollect.clock import FixedClock
from recollect.conversation import Conversation
from recollect.home import Home
from recollect.model.entry import Category, Scope
from recollect.model.operation import Add, Alias, Rename, Write

__all__ = ["HELPER", "fill"]

HOUR = 3_600_000
DAY = 24 * HOUR
BATCH = 5_000
HELPER = "scout"
"""A second agent, which looks things up for the first."""


def fill(home: Home, clock: FixedClock, agent: str, workspace: str, *, now: int, more: int = 0) -> int:
    """Tell the story in an empty memory, and make `more` further entries; how many the agent has then."""
    memory, scout = home.agent(agent, workspace), home.agent(HELPER, workspace)
    clock.set(now - 42 * DAY)
    drafts = _generated(more, now)
    while batch := list(itertools.islice(drafts, BATCH)):
        memory.remember_many(batch)
    memory.channels.create("release", "Getting the shop online")
    memory.channels.create("design", "How it looks and reads")
    for days, what, *given in sorted(SCENES, key=lambda scene: -scene[0]):
        clock.set(max(clock.now(), _moment(now, days)))
        match what, given:
            case "note", [fields]:
                memory.remember(**fields)
            case "found", [text, tags]:
                scout.remember(text, tags=tags, source="web")
            case "know", [key, text, tags]:
                memory.upsert(key, text, tags=tags)
            case "write", [name, text]:
                memory.apply(Write(name, content=text))
            case "rename", [name, new]:
                memory.apply(Rename(name, new))
            case "alias", [name, new]:
                memory.apply(Alias(name, new))
            case "forget", [name]:
                memory.forget(name)
            case "ask", [query]:
                memory.recall(query, limit=4)
                home.flush()
            case "talk", [channel, chat, lines, ending]:
                talk = memory.conversations.start(channel, chat_id=chat, model_id="assistant-large", participants=[HELPER])
                _say(talk, clock, lines)
                if ending != "open":
                    talk.end()
                if ending == "archive":
                    talk.archive()
            case "job", [name]:
                home.jobs.run(name, workspace=workspace)
    talk = memory.conversations.get(memory.conversations.list(limit=1)[0].id)
    memory.remember(
        "The customer behind order 4711 waits for an answer today.",
        scope=Scope.CONVERSATION, conversation=talk.id, tags=["support"], importance=0.7,
    )  # fmt: skip
    talk.scratchpad["orders to look at"] = ["4711", "4718", "4720"]
    talk.scratchpad["what scout found"] = "The carrier's status page says: delays in the north until Thursday."
    talk.checkpoint()
    memory.reminders.add(now + 20 * HOUR, "Ask the carrier again about the delays in the north")
    memory.reminders.add(now + 3 * DAY, "Send the numbers of the first month to Ana")
    clock.set(now)
    home.flush()
    return more + len(memory.list(limit=1_000, since=now - 42 * DAY))


def _moment(now: int, days: float) -> int:
    """So many days before now; before today in working hours, between eight and five."""
    if days < 1:
        return now - round(days * DAY)
    whole = ceil(days)
    return now // DAY * DAY - whole * DAY + 8 * HOUR + round((whole - days) * 9 * HOUR)


def _say(talk: Conversation, clock: FixedClock, lines: list[tuple[Any, ...]]) -> None:
    for who, text, *more in lines:
        clock.advance(95_000)
        match who:
            case "user":
                talk.user(text, speaker="Ana")
            case "agent":
                talk.assistant(text)
            case "call":
                name, arguments, result = more
                call = f"call_{clock.now()}"
                talk.assistant(
                    text, tool_calls=[{"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}]
                )
                clock.advance(4_000)
                talk.tool(result, call)
            case "compact":
                talk.compact()


# The story. Each scene is so many days before now.


def _note(days: float, content: str, name: str | None = None, category: str | None = None, **more: Any) -> tuple[Any, ...]:
    return days, "note", {"content": content, "name": name, "category": category, **more}


SCENES: list[tuple[Any, ...]] = [
    _note(
        41.5,
        "# The web shop of the Harbour Roastery\n\n"
        "A small shop for coffee, opened in the autumn. **Three people**, one agent.\n\n"
        "| part | what | where |\n|---|---|---|\n"
        "| shop | server-rendered pages | [[api port]] |\n| payments | card and invoice | [[payment provider]] |\n"
        "| releases | once a week | [[deploy day]] |\n\n"
        "## What matters\n\n1. Pages open in under a second on a phone.\n2. An order is never lost.\n"
        "3. Ana can change every text herself.\n\n> Slow is smooth, smooth is fast.",
        "web shop", "projects", tags=["shop"], importance=0.9, source="user",
    ),
    _note(41, "Ana likes short answers, with the number first and the reason after it.", "Ana", scope=Scope.ACCOUNT, importance=0.8, tags=["people"], source="user"),
    _note(40.6, "Write money as `12.50 EUR`, dates as `2026-03-16`, and never a time without its zone.", "how we write numbers", scope=Scope.ACCOUNT, tags=["style"], source="user"),
    (40.2, "know", "api port", "The shop listens on port 8080 behind the proxy; the admin pages on 8081.", ["ops"]),
    (40.1, "know", "staging address", "Staging is at shop-staging.internal, with yesterday's data and no mail.", ["ops"]),
    _note(
        39.4,
        "We use PostgreSQL for orders and keep no second database.\n\n"
        "**Why:** one backup, one place to look, and everybody knows it.\n\n**Against it:** search is weaker than in a search engine; see [[product search]].",
        "one database", "decisions", tags=["architecture"], importance=0.8,
        context="Asked whether product search needs its own engine.",
    ),
    _note(38.2, "We chose server-rendered pages with a little JavaScript. A framework would cost 90 kB before the first word is on the screen.", "server-rendered pages", "decisions", tags=["architecture", "speed"], importance=0.75),
    _note(37.8, "- [x] Choose the colours\n- [x] Ask two roasters for photographs\n- [ ] Write the text about returns\n- [ ] Let somebody with a screen reader try the checkout", "before the opening", "tasks", tags=["opening"], importance=0.7),
    _note(36.5, "Ana wants the price of shipping on the product page already, not only at the end.", tags=["checkout"], source="user"),
    _note(36.1, "The photographs are 4 MB each as they come. Resize them to 1200 pixels before they go online.", tags=["speed", "images"]),
    _note(35.3, "A customer's name may have one word only. The form must not ask for two.", "names have one word", "lessons", tags=["forms"], importance=0.6),
    _note(34.9, "The first pages are translated into Portuguese: início, cafés, devolução.", tags=["text", "translation"]),
    _note(33.7, "We went with the provider that also offers invoices. Fees are 1.2 % + 0.25 EUR; the contract can be ended monthly.\n\nLinks: [[web shop]], [their page](https://payments.example.org/fees)", "payment provider", "decisions", tags=["payments"], importance=0.8, context="Compared three offers with scout."),
    (33.2, "found", "Provider A: 1.4 % + 0.25 EUR, cards only. Provider B: 1.2 % + 0.25 EUR, cards and invoices. Provider C: 0.9 %, but a contract for three years.", ["payments", "research"]),
    (33.1, "found", "Two of the three providers send a webhook more than once; the order number must make it harmless.", ["payments", "research"]),
    _note(32.4, "A webhook can come twice, and out of order. We note the event's id before we act on it, so the second one does nothing.", "webhooks come twice", "lessons", tags=["payments"], importance=0.85),
    _note(31.6, "Roasting happens on Mondays and Thursdays; orders before ten leave the same day.", tags=["shipping"], source="user"),
    _note(30.8, "The old shop had 312 addresses that people link to. All of them now lead to the new pages, tested by `scripts/redirects`.", tags=["opening", "links"]),
    _note(29.9, "Product search uses the database's own full-text index. Typing `etiopia` finds Ethiopia, because we keep other spellings in a table.", "product search", "decisions", tags=["search", "architecture"], importance=0.65),
    _note(29.1, "The mail server refuses messages without a plain-text part.", tags=["mail"]),
    _note(28.4, "Load test: 180 orders a minute before anything slows down. We expect 3.", "load test", tags=["speed"], importance=0.55),
    _note(27.2, "We deploy on Tuesdays at ten, when all three are there.", "deploy day", "decisions", tags=["release", "ops"], importance=0.8, context="After two deployments on a Friday afternoon that nobody could look after."),
    _note(26.8, "A deployment takes four minutes, of which three are the images. Images now have their own step.", tags=["release", "speed"]),
    _note(25.5, "Never test with a real card number, not even one's own: the bank called.", "no real cards in tests", "lessons", tags=["payments", "testing"], importance=0.7),
    _note(24.6, "The shop opened at eight. 41 orders on the first day, 2 of them twice because of an impatient finger: the button now waits.", "opening day", tags=["opening"], importance=0.6),
    _note(23.9, "People press a button again when nothing happens within a second. Show that it works, and ignore the second press.", "impatient fingers", "lessons", tags=["forms", "checkout"], importance=0.75),
    (21.2, "write", "deploy day", "We deploy on Wednesdays at ten. Tuesday is roasting day for the big orders, and nobody had time to look at a release.\n\nIf something is wrong, the way back is `scripts/rollback`; it takes one minute."),
    _note(21, "Refunds are made within two days, without questions, up to 50 EUR. Above that Ana looks at them.", "refunds", "decisions", tags=["support", "payments"], importance=0.8, source="user", context="So that the agent may answer customers by itself."),
    (20.4, "alias", "deploy day", "release day"),
    _note(19.7, "Ask for the order number first: nine of ten questions are answered by the status page.", "ask for the order number", "lessons", tags=["support"], importance=0.6),
    _note(18.3, "The newsletter goes out on the first Sunday of the month, never more often.", "newsletter", "decisions", tags=["mail"], importance=0.5, source="user"),
    _note(17.5, "Backups run at three in the morning. On the 12th one was restored on staging as a test; it took eleven minutes.", "backup test", tags=["ops"], importance=0.7),
    _note(16.9, "The decaf from Peru is sold out until the next ship.", tags=["stock"]),
    _note(15.8, "Colour contrast on the price tags was 3.9; with the darker brown it is 7.1.", tags=["design", "accessibility"], scope=Scope.CHANNEL, channel="design"),
    _note(14.6, "A test that waits with `sleep` fails on Mondays, when the machine is busy. Wait for the thing itself.", "do not sleep in tests", "lessons", tags=["testing"], importance=0.65),
    _note(13.2, "Gift cards: not this year. They need bookkeeping for open amounts, and nobody asked more than once.", "no gift cards", "decisions", tags=["shop"], importance=0.55),
    _note(12.1, "Two parcels to the islands came back: the carrier wants a phone number there.", tags=["shipping", "support"]),
    _note(11.4, "- [x] Phone number for islands in the form\n- [ ] Text about returns in Portuguese\n- [ ] Ask the carrier about weekends", "after the opening", "tasks", tags=["shop"], importance=0.7),
    (10.8, "rename", "names have one word", "names in forms"),
    _note(9.7, "Search logs: people look for `grinder` 14 times a week, and we sell none.", tags=["search", "stock"]),
    _note(8.5, "We settled on keeping carts for 30 days, in the database, without a login.", "carts", "decisions", tags=["checkout"], importance=0.6),
    (7.9, "write", "refunds", "Refunds are made within two days, without questions, up to 80 EUR. Above that Ana looks at them.\n\nA refund goes back the way the money came, never as a voucher."),
    _note(6.3, "The slowest page was the start page in the evening: 1.9 s. A list of all roasts was made for each visitor; now once a minute.", "slow start page", "lessons", tags=["speed"], importance=0.7),
    _note(5.5, "An answer to a customer begins with what we do now, then why it happened.", tags=["support", "style"], source="user"),
    _note(4.2, "Old draft of the text about returns.", "returns draft", tags=["text"]),
    _note(3.8, "Text about returns: thirty days, opened bags too, postage on us.", "returns", "decisions", tags=["text", "support"], importance=0.7, source="user"),
    (3.7, "forget", "returns draft"),
    _note(2.6, "The carrier's page answers slowly in the mornings; ask it in the background and show the last known state.", "slow carrier page", "lessons", tags=["shipping"], importance=0.6),
    _note(2.2, "Wholesale prices were asked for by two cafés.", tags=["shop"], source="user"),
    _note(2.1, "Perhaps the bags should be blue. Or green.", "spare thought", tags=["misc"]),
    (2, "forget", "spare thought"),
    _note(1.1, "Yesterday: 64 orders, 2 questions, 0 refunds.", tags=["numbers"]),
    _note(0.2, "The carrier has delays in the north; answers to customers there mention it.", tags=["shipping", "support"], importance=0.65),
    *((days, "ask", query) for days, query in [
        (26, "when do we deploy?"), (22.5, "deployment day"), (20, "how are refunds handled?"), (18, "which payment provider"),
        (15, "webhook twice"), (14, "when do we deploy?"), (12.5, "how much may be refunded"), (9, "what did we learn about forms"),
        (7.5, "refunds limit"), (6, "deploy day rollback"), (4, "why is the start page slow"), (3, "refunds"), (2.5, "webhooks"),
        (1.5, "when is the next release?"), (0.9, "who decides about large refunds"), (0.3, "carrier delays"),
    ]),
    (30, "job", "consolidate"), (16, "job", "consolidate"), (10, "job", "reindex"), (5, "job", "consolidate"), (1, "job", "extract"),
]  # fmt: skip

SCENES += [
    (33.5, "talk", None, "choosing-payments", [
        ("user", "Which payment provider should we take? I would like invoices, too."),
        ("call", "I ask scout to compare the three offers.", "ask_agent", '{"agent": "scout", "question": "Compare the fees of A, B and C"}', "A: 1.4 % + 0.25 EUR, cards only\nB: 1.2 % + 0.25 EUR, cards and invoices\nC: 0.9 %, three years"),
        ("agent", "Only **B** offers invoices without a long contract. It costs 1.2 % + 0.25 EUR per order."),
        ("user", "Then B. Can we leave when we want?"),
        ("agent", "Yes, at the end of each month. We decided to use provider B for cards and invoices."),
        ("user", "Good. Write it down, please."),
        ("agent", "Done: it is remembered as [[payment provider]]."),
    ], "archive"),
    (27.3, "talk", "release", "friday-trouble", [
        ("user", "The deployment on Friday broke the cart and nobody saw it until Sunday."),
        ("call", "I look at the log of that evening.", "read_log", '{"service": "shop", "from": "Fri 17:40", "lines": 3}', "17:41 deployed 2f81c\n17:44 cart: column \"expires\" is missing\n17:44 cart: column \"expires\" is missing"),
        ("agent", "A column was missing: the migration ran on staging only. It is important that migrations run as the first step of a deployment."),
        ("user", "And please no more Fridays."),
        ("agent", "Agreed: Tuesdays at ten, when all three of you are there. I noted it as [[deploy day]]."),
    ], "end"),
    (14.7, "talk", "design", "price-tags", [
        ("user", "The prices are hard to read on my old phone."),
        ("agent", "The brown on beige has a contrast of 3.9. With the darker brown it is 7.1, and it still looks like coffee."),
        ("user", "Take the darker one everywhere."),
        ("agent", "Done. We learned that light colours look fine on our screens only; every new colour is measured from now on."),
    ], "end"),
    (0.12, "talk", "release", "morning-support", [
        ("user", "Good morning. What is waiting?"),
        ("call", "I look at the inbox.", "list_tickets", '{"status": "open"}', "4711  Where is my parcel?  (north)\n4718  Wrong grind\n4720  Where is my parcel?  (north)"),
        ("agent", "Three questions: two about parcels in the north, one about a wrong grind."),
        ("user", "Is something wrong with the carrier?"),
        ("call", "Scout looks at their status page.", "ask_agent", '{"agent": "scout", "question": "Does the carrier report delays?"}', "Status page: delays in the north until Thursday because of snow."),
        ("agent", "Yes: delays in the north until Thursday, because of snow."),
        ("user", "Then tell the two customers, and offer 4718 a new bag."),
        ("agent", "Both are told. For 4718 a new bag in the right grind leaves with today's orders."),
        ("user", "How are refunds above 80 EUR handled again?"),
        ("agent", "You look at them yourself; up to 80 EUR I may decide. That is [[refunds]], changed a week ago."),
        ("compact", ""),
        ("user", "4711 writes again and wants the money back: 36 EUR."),
        ("agent", "That is below 80 EUR. I made the refund; it goes back to the card within two days."),
        ("user", "Thank you. Keep an eye on the north, please."),
        ("agent", "I will ask the carrier again tomorrow morning."),
    ], "open"),
]  # fmt: skip


# Entries for size

_WHO = ["the customer", "the carrier", "the roastery", "the proxy", "the nightly job", "the mail server", "a test", "the checkout", "the search", "the start page", "the printer", "the bookkeeper"]
_DID = ["asked for", "was slow because of", "needs", "failed without", "sent", "no longer shows", "was fixed by", "waits for", "keeps", "ignores"]
_WHAT = ["an invoice", "a second parcel", "the new label", "a phone number", "the old price", "a larger image", "the weekly report", "a missing index", "the returns form", "a colour", "the translation", "a gift note", "the stock of Peru", "a token", "the backup", "two bags"]
_WHEN = ["on Monday", "last week", "since the opening", "in the morning", "after the release", "twice", "for the islands", "on the phone", "at night", "before ten"]
_TAGS = ["shop", "ops", "support", "shipping", "payments", "speed", "text", "search", "mail", "stock", "design", "testing"]


def _generated(count: int, now: int) -> Iterator[Add]:
    chance = random.Random(8)
    categories = [None, None, None, None, *Category]
    for number in range(count):
        text = " ".join(chance.choice(words) for words in (_WHO, _DID, _WHAT, _WHEN))
        yield Add(
            f"{text[0].upper()}{text[1:]} (order {10_000 + number}).",
            tags=chance.sample(_TAGS, chance.randint(0, 2)), category=chance.choice(categories),
            importance=round(chance.uniform(0.2, 0.8), 2), at=now - round((count - number) / max(count, 1) * 40 * DAY) - 42 * DAY,
        )  # fmt: skip
