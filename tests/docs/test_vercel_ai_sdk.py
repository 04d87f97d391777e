"""The program for the Vercel AI SDK, run by Node.js on a real server. A stub stands for the package `ai`: only what the
program sends to the server and does with its answers is tested here.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from docs.pages import ROOT
from surfaces.server import serving

import recollect

STUB = """
export class MockLanguageModelV3 { constructor(given) { this.given = given; } }
export const generateText = async ({ model, instructions, prompt }) => {
  if (typeof instructions !== "string" || !prompt) throw new Error("no text for the model");
  return model.given.doGenerate.content[0];
};
"""
TYPES = re.compile(r": (string|object)(?=[,)])| as (const|any)\b")


def test_the_second_run_of_the_program_knows_what_the_first_one_said(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node is installed here")
    page = (ROOT / "docs" / "vercel-ai-sdk.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```ts\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    package = tmp_path / "node_modules" / "ai"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "exports": {".": "./stub.js", "./test": "./stub.js"}}')
    (package / "stub.js").write_text(STUB)
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        code = TYPES.sub("", program).replace("http://127.0.0.1:8377", server.url)
        (tmp_path / "helper.mjs").write_text(code, encoding="utf-8")
        runs = [subprocess.run([node, "helper.mjs"], cwd=tmp_path, capture_output=True, text=True) for _ in range(2)]
    assert [run.stderr for run in runs] == ["", ""]
    assert [run.stdout.splitlines() for run in runs] == [
        ["known before: false", "Staging uses port 8080."],
        ["known before: true", "Staging uses port 8080."],
    ]
