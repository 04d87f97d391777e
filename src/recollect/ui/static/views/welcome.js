// Welcome screen of an empty memory: how to connect an agent, to write the first entry by hand, or to import a file.

import { get, may, who } from "../api.js";
import { button, copy, h, set } from "../dom.js";
import { t, textParts } from "../texts.js";
import { importButton, mayTransfer } from "./transfer.js";

const EVERY = 5_000; // polling interval for workspaces that are not empty, in milliseconds

const word = (text) => (/^[\w.:/@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const line = (...words) => words.map(word).join(" ");
const json = (entry) => JSON.stringify({ mcpServers: { recollect: entry } }, null, 2);

/** Return the command line options for this memory; none for the default. */
const named = () => ["workspace", "agent"].flatMap((key) => ((who[key] ?? "default") === "default" ? [] : [`--${key}`, who[key]]));

/** Instructions for the server's machine, with the program that serves this page and its home. */
const local = ({ home, program }) => [
  [t("welcome.mcp"), `${t("welcome.mcp.text")} ${named().includes("--workspace") || home.endsWith(".db") ? "" : t("welcome.mcp.projects")}`,
    `${line(...program, "connect")}\n${line(...program, "--home", home, "connect", "claude-code", ...named())}`],
  [t("welcome.other"), t("welcome.other.text"),
    json({ command: program[0], args: [...program.slice(1), "mcp", "--home", home, ...named()] })],
];

/** Instructions for other machines, through this server. */
const remote = (token) => {
  const where = new URLSearchParams(named().length ? { workspace: who.workspace, agent: who.agent } : {}).toString();
  const url = `${location.origin}/mcp${where && "?"}${where}`, header = token ? { headers: { Authorization: "Bearer rcl_…" } } : {};
  return [
    ["Claude Code", t("welcome.remote.text"),
      line("claude", "mcp", "add", "--transport", "http", "recollect", url) + (token ? " --header 'Authorization: Bearer rcl_…'" : "")],
    [t("welcome.other"), t("welcome.other.text"), json({ type: "http", url, ...header })],
  ];
};

const ways = ({ home, program, needs_token: token }) => [
  ...(home && program ? local({ home, program }) : remote(token)),
  ["Python", t("welcome.python.text"),
    `import recollect\n\nwith recollect.open(${home ? JSON.stringify(home) : ""}) as home:\n` +
    `    mem = home.agent(${[who.agent, who.workspace].map((name) => JSON.stringify(name ?? "default")).join(", ")})\n` +
    `    mem.remember("We deploy on Tuesdays.")\n    hits = mem.recall("when do we deploy?")`],
  ["HTTP", t("welcome.http.text"),
    `curl '${location.origin}/v1/entries?${new URLSearchParams({ workspace: who.workspace ?? "default", agent: who.agent ?? "default" })}' \\\n` +
    `  -H 'content-type: application/json' \\\n${token ? "  -H 'authorization: Bearer rcl_…' \\\n" : ""}  -d '{"content": "We deploy on Tuesdays."}'`],
];

/** Return links to the other memories, last changed first, with how much is in them. */
export async function otherMemories() {
  const found = await get("/v1/workspaces/counts", { workspace: null, agent: null });
  return found.filter((one) => one.workspace !== who.workspace || one.agent !== who.agent).sort((a, b) => (b.last_change ?? 0) - (a.last_change ?? 0))
    .map(({ workspace, agent, entries, conversations }) => h("a", { href: `#/overview?${new URLSearchParams({ workspace, agent })}` }, t("welcome.place", {
      workspace, agent, entries: t("memory.count.entries", { count: entries }), conversations: t("welcome.conversations", { count: conversations }) })));
}

/** Create the screen; `write()` opens the form for the first entry. */
export function welcome(write) {
  const agent = who.agent ?? "default", workspace = who.workspace ?? "default";
  const others = h("p", { class: "lead", role: "status" }), examples = h("span", { class: "hint" }), shown = h("div", { class: "ways" });
  const node = h("div", { class: "welcome" },
    h("h1", {}, t("welcome.title")),
    h("p", { class: "lead" }, [t("welcome.what"), t("welcome.lead", { agent, workspace }), t("welcome.how")].join(" ")),
    others,
    may("write") && h("p", { class: "row wrap" }, button(t("welcome.write"), write, { kind: "strong", key: "n" }), mayTransfer() && importButton(t("welcome.import")), examples),
    shown);
  const explain = () => get("/v1/session", { workspace: null, agent: null }).then((session) => {
    const { home, program } = session;
    if (home && program) set(examples, textParts("welcome.examples", { command: h("code", {}, line(...program, "--home", home, ...named(), "demo", "--fill")) }));
    set(shown, ways(session).map(([name, text, code]) => h("section", {},
      h("div", { class: "row" }, h("h2", { class: "grow" }, name), button(t("welcome.copy", { name }), () => copy(code), { icon: "copy", quiet: true })),
      h("p", {}, text), h("pre", { tabindex: 0 }, h("code", {}, code)))));
  });
  const link = () => otherMemories().then((links) => {
    set(others, links.length ? textParts("welcome.elsewhere", { places: links.flatMap((link, place) => (place ? ["; ", link] : [link])) }) : []);
  });
  const look = () => Promise.all([shown.childElementCount || explain(), link()]).catch(() => {}); // retried with the next poll
  look();
  const looking = setInterval(() => (node.isConnected ? look() : clearInterval(looking)), EVERY);
  return node;
}
