// The first screen of an empty memory: how to connect an agent, and how to write the first entry by hand.

import { may, who } from "../api.js";
import { button, copy, h } from "../dom.js";

const ways = (agent, word) => [
  ["A program that speaks MCP", "Claude Code, Cursor and others: the first command says which are known, the second connects one.",
    `recollect connect\nrecollect connect claude-code --agent ${word}`],
  ["Any other MCP client", "Add this to its configuration.",
    `{\n  "mcpServers": {\n    "recollect": { "command": "recollect", "args": ["mcp", "--agent", ${JSON.stringify(agent)}] }\n  }\n}`],
  ["Python", "The library, on the same home.",
    `import recollect\n\nwith recollect.open() as home:\n    mem = home.agent(${JSON.stringify(agent)})\n    mem.remember("We deploy on Tuesdays.")\n    hits = mem.recall("when do we deploy?")`],
  ["HTTP", "From anything else. All routes are described at /docs.",
    `curl '${location.origin}/v1/entries?agent=${encodeURIComponent(agent)}' \\\n  -H 'content-type: application/json' \\\n  -d '{"content": "We deploy on Tuesdays."}'`],
];

/** The screen; `write()` begins the first entry. */
export function welcome(write) {
  const agent = who.agent ?? "default", word = /^[\w.-]+$/.test(agent) ? agent : `'${agent.replaceAll("'", "'\\''")}'`;
  return h("div", { class: "welcome" },
    h("h1", {}, "Nothing is remembered yet"),
    h("p", { class: "lead" }, `This is the memory of the agent “${agent}”. Connect it, and what it remembers appears here, as it happens.`),
    may("write") && h("p", { class: "row" }, button("Write the first entry", write, { kind: "strong", key: "n" }),
      h("span", { class: "hint" }, "or fill a new folder with examples: ", h("code", {}, "recollect demo --fill"))),
    h("div", { class: "ways" }, ways(agent, word).map(([name, text, code]) => h("section", {},
      h("div", { class: "row" }, h("h2", { class: "grow" }, name), button(`Copy: ${name}`, () => copy(code), { icon: "copy", quiet: true })),
      h("p", {}, text), h("pre", { tabindex: 0 }, h("code", {}, code))))));
}
