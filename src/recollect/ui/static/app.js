// The frame: session, selected memory, routing, keyboard shortcuts, theme, and the feed from the server.

import { ask, events as network, get, latest, may, page, who } from "./api.js";
import { button, dialog, dropUndos, failed, field, h, icon, keepFocus, select, set, tick, toast, undo, waiting } from "./dom.js";
import { Feed } from "./feed.js";
import { go, href, read, standard } from "./route.js";
import { kept } from "./storage.js";
import { LANGUAGES, chooseLanguage, language, t, textParts } from "./texts.js";
import { ContextView } from "./views/context.js";
import { ConversationsView } from "./views/conversations.js";
import { leaving } from "./views/form.js";
import { GraphView } from "./views/graph.js";
import { TimelineView } from "./views/timeline.js";
import { MemoryView } from "./views/memory.js";
import { OverviewView } from "./views/overview.js";
import { RemindersView } from "./views/reminders.js";
import { ReviewView, waitingPairs } from "./views/review.js";
import { watchDrops } from "./views/transfer.js";
import { UpkeepView } from "./views/upkeep.js";

const VIEWS = {
  overview: OverviewView,
  memory: MemoryView,
  conversations: ConversationsView,
  timeline: TimelineView,
  graph: GraphView,
  review: ReviewView,
  context: ContextView,
  reminders: RemindersView,
  upkeep: UpkeepView,
};
const JUMPS = { o: "overview", m: "memory", c: "conversations", l: "timeline", n: "graph", v: "review", x: "context", r: "reminders", u: "upkeep" }; // after g
const KEYS = [["/", "keys.search"], ["j  ↓", "keys.next"], ["k  ↑", "keys.previous"], ["Enter", "keys.open"], ["Esc", "keys.back"], ["e", "keys.edit"], ["n", "keys.new"], ["u", "keys.undo"],
  ...Object.entries(JUMPS).map(([key, view]) => [`g ${key}`, `nav.${view}`]), ["1  2", "keys.review.choose"], ["3  4", "keys.review.both"], ["t", "keys.theme"], ["?", "keys.help"]];
const BATCH = 120; // milliseconds during which changes are batched
const COUNTED = 100; // pairs for review that are counted
const RECOUNTED = 20_000; // in milliseconds: the feed does not report a pair that is found and resolved within one of its intervals
const MINUTE = 60_000;
const RETRY = 2_000; // milliseconds until a failed start is retried

const main = document.getElementById("main"), offline = document.getElementById("offline"), tools = document.getElementById("tools"), toolbar = document.getElementById("top");
let view = null, name = null, session = null, agents = [], workspaces = [], lost = false, starts = 0;

// Session and memory

/** Options of a read-only request that names no memory. */
const alone = { query: { workspace: null, agent: null }, reads: true };

/** True if the session's token grants access to a memory. */
const allowed = ({ workspace, agent }, of = session) => [workspace, "*"].includes(of.workspace) && (of.agents.includes("*") || of.agents.includes(agent));

/** Report that the token has no access to the memory of an address, and fall back to one that it has access to. */
function elsewhere({ workspace, agent }, of = session) {
  toast(t("app.otherMemory", { agent, workspace }), { bad: true });
  if (!allowed(who, of)) Object.assign(who, standard);
}

/** Start the page, also after a login. A newer start cancels older ones; a failed start shows the error and retries. */
async function begin({ entered = false } = {}) {
  const mine = ++starts, address = location.hash;
  try {
    const found = await get("/v1/session", alone.query);
    if (mine !== starts) return;
    const refused = identify(found);
    await chooseLast();
    if (mine !== starts) return;
    await memories();
    if (mine !== starts) return;
    if (location.hash !== address) return begin({ entered }); // the address changed: it may name another memory
    start(found, refused);
  } catch (error) {
    if (mine !== starts) return;
    if (error.status === 401) return login(entered ? t("login.noCookie") : "");
    keepFocus(main, () => set(main, failed(error, () => begin({ entered }))));
    if (error.status === 0 || error.status >= 500) setTimeout(() => { if (mine === starts) begin({ entered }); }, RETRY);
  }
}

/** Apply the rights of a session and select the memory to show. Returns true if the token has no access to the address's memory. */
function identify(found) {
  who.right = found.right;
  who.everybody = found.agents.includes("*");
  who.everywhere = who.everybody && found.workspace === "*";
  standard.workspace = found.workspace === "*" ? found.default_workspace : found.workspace;
  standard.agent = who.everybody || found.agents.includes(found.default_agent) ? found.default_agent : found.agents[0];
  const { query } = read(), bare = /^#?\/?$/.test(location.hash); // any other address names its memory
  for (const key of ["workspace", "agent"]) { // an earlier choice may have been made with another token
    const before = bare ? kept.get(key) : null;
    who[key] = query[key] ?? (before !== null && allowed({ ...standard, [key]: before }, found) ? before : standard[key]);
  }
  const refused = !allowed(who, found);
  if (refused) elsewhere(who, found);
  return refused;
}

/** At the bare address, and if this browser has shown no memory before, select the one that was changed last. */
async function chooseLast() {
  if (!/^#?\/?$/.test(location.hash) || kept.get("agent") !== null) return;
  const found = await get("/v1/workspaces/counts", alone.query).catch(() => []);
  const [last] = found.filter((one) => one.last_change).sort((a, b) => b.last_change - a.last_change);
  if (last) Object.assign(who, { workspace: last.workspace, agent: last.agent });
}

/** Show the page for a session. From here on the address determines what is shown. */
function start(found, refused) {
  session = found;
  const { view: first, parts, query: { agent, workspace, ...rest } } = read();
  if ((refused || !workspace) && workspaces.length && !workspaces.includes(who.workspace)) who.workspace = standard.workspace;
  // Show an empty agent only if the address names it, or if all agents are empty.
  if ((refused || !agent) && !agents.includes(who.agent)) who.agent = agents.includes(standard.agent) || !agents.length ? standard.agent : agents[0];
  // An address without an agent means the default agent, so name the agent explicitly.
  history.replaceState(null, "", refused ? href([first]) : href([first, ...parts], rest));
  document.body.classList.remove("outside");
  frame();
  follow();
  route();
}

/** Load the workspaces, and the agents of the selected one. */
async function memories() {
  const of = who.workspace, list = (answer) => (Array.isArray(answer) ? answer : answer.items);
  const found = await Promise.all([get("/v1/workspaces").then(list), get("/v1/agents", { agent: null }).then(list)]);
  if (of === who.workspace) [workspaces, agents] = found;
}

/** Remove everything shown of the current memory, so that none of it appears under the name of the next one. */
function clear() {
  leaving();
  dropUndos();
  clearTimeout(counting);
  newest(async () => {}); // discard a pending count
  tallied("");
  view = null;
  set(main, waiting());
}

/** Show the login form; `why` is the error of the previous attempt. */
function login(why = "") {
  starts++; // a pending start would replace the form
  who.login++; // ignore the 401 of pending requests: they used the old token
  feed.close();
  clear();
  offline.hidden = true; // the form says what to do
  for (const box of document.querySelectorAll("dialog[open]")) box.close();
  document.body.classList.add("outside");
  const token = h("input", { type: "password", autocomplete: "current-password", required: true, placeholder: "rcl_…", autofocus: true, spellcheck: "false" });
  const problem = h("p", { class: "problem", role: "alert", hidden: !why }, why);
  session = name = null; // so that no navigation bypasses the form
  let busy = false;
  set(main, h("form", { class: "login stack", onsubmit: async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = problem.hidden = true;
    try {
      await ask("POST", "/v1/session", { ...alone, body: { token: token.value.trim() } });
    } catch (error) {
      problem.textContent = { 0: t("login.away"), 401: t("login.refused") }[error.status] ?? error.message;
      problem.hidden = busy = false;
      return void token.select();
    }
    set(main, waiting());
    await begin({ entered: true });
  } }, h("h1", {}, t("login.title")), field(t("login.token"), token), problem, h("button", { class: "button strong" }, t("login.submit")),
  h("p", { class: "hint" }, textParts("login.hint", { command: h("code", {}, "recollect token create NAME") }))));
  token.focus();
}

async function logout() {
  const before = session;
  session = null; // a 401 meanwhile must not show a login form that the reload would discard
  try {
    await ask("DELETE", "/v1/session", alone);
  } catch (error) {
    session = before;
    throw error;
  }
  location.reload();
}

/** Switch to another memory in the same view. */
function choose(change) {
  Object.assign(who, change);
  kept.set("workspace", who.workspace);
  kept.set("agent", who.agent);
  clear();
  keepFocus(toolbar, frame);
  follow();
  const address = href([read().view]);
  if (address === location.hash) route(); // same address: no hashchange event
  else go(address);
}

async function chooseWorkspace(workspace) {
  clear(); // before `who` changes: a write from the old view would go to the new workspace
  who.workspace = workspace;
  try {
    await memories();
  } catch (error) {
    if (session && who.workspace === workspace) set(main, failed(error, () => chooseWorkspace(workspace)));
    return;
  }
  if (!session || who.workspace !== workspace) return;
  if (view && !choosing() && agents.includes(who.agent)) return void keepFocus(toolbar, frame); // an agent selected meanwhile is shown
  choose({ workspace, agent: agents.includes(who.agent) ? who.agent : agents[0] ?? standard.agent });
}

/** Refresh the agents and workspaces to choose from. */
async function others() {
  const before = [workspaces, agents];
  try { await memories(); } catch { return; } // keep the known ones
  if (!session) return;
  if (JSON.stringify([workspaces, agents]) === JSON.stringify(before)) return;
  const agent = document.getElementById("agent"), workspace = document.getElementById("workspace");
  if (!agent || !workspace !== workspaces.length < 2) return void keepFocus(toolbar, frame);
  for (const [box, values, value] of [[agent, agents, who.agent], [workspace, workspaces, who.workspace]]) {
    if (box) set(box, among(values, value).map(([key, text]) => h("option", { value: key, selected: key === value }, text))); // in place: the select may be open
  }
}

const opened = { onpointerenter: others, onfocus: others };
const among = (values, value) => [...new Set([...values, value])].sort().map((one) => [one, one]);

// The frame around the views

function dot() {
  const says = t(lost ? "app.lost" : "app.live");
  return h("span", { class: lost ? "live lost" : "live", id: "live", role: "img", "aria-label": says, title: says });
}

const labelled = (key, control) => h("div", { class: "labelled" }, h("label", { for: control.id }, t(key)), control);

function frame() {
  const views = Object.entries(VIEWS).filter(([key]) => key !== "upkeep" || (may("admin") && who.everybody));
  set(document.getElementById("nav"), views.map(([key]) => h("a", { href: href([key]), "data-view": key }, icon(key), h("span", {}, t(`nav.${key}`)), key === "review" && h("span", { class: "tally", id: "tally" }, tally))));
  set(tools, dot(),
    (workspaces.length > 1 || !workspaces.includes(who.workspace)) && workspaces.length > 0 && labelled("app.workspace", select(among(workspaces, who.workspace), who.workspace, chooseWorkspace, { id: "workspace", "data-name": "workspace", ...opened })),
    labelled("app.agent", select(among(agents, who.agent), who.agent, (agent) => choose({ agent }), { id: "agent", "data-name": "agent", ...opened })),
    labelled("app.language", select(Object.entries(LANGUAGES), language, chooseLanguage, { id: "language", "data-name": "language" })),
    !may("write") && h("span", { class: "badge", title: t("app.readOnly.why") }, t("app.readOnly")),
    button(t("keys.theme"), theme, { icon: isDark() ? "sun" : "moon", quiet: true, id: "theme", key: "t" }),
    button(t("keys.title"), help, { icon: "help", quiet: true, key: "?" }),
    session.name && button(t("app.logout", { name: session.name }), logout, { icon: "leave", quiet: true }));
  mark();
}

function mark() {
  document.querySelector(".brand").href = href(["overview"]);
  for (const link of document.querySelectorAll("#nav a")) {
    link.href = href([link.dataset.view]);
    if (link.dataset.view === name) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center" }); // on a phone the views scroll
    } else link.removeAttribute("aria-current");
  }
}

/** The memory that an address names. */
const named = ({ query: { agent = standard.agent, workspace = standard.workspace } } = read()) => ({ agent, workspace });

/** True while a workspace is selected that the address does not name yet, because its agents are not loaded. */
const choosing = () => who.workspace !== named().workspace;

function route() {
  if (!session) return;
  const where = read(), known = Object.hasOwn(VIEWS, where.view) ? where.view : "overview";
  const { agent, workspace } = named(where);
  if (!allowed({ agent, workspace })) {
    elsewhere({ agent, workspace });
    history.replaceState(null, "", href([known]));
    return route();
  }
  if (agent !== who.agent || workspace !== who.workspace) {
    clear();
    Object.assign(who, { agent, workspace });
    keepFocus(toolbar, frame);
    follow();
  }
  if (feed.beginning) return void feed.beginning.then(() => { if (!choosing()) route(); });
  if (known !== name || !view) {
    const first = name === null;
    leaving();
    name = known;
    view = new VIEWS[name](main);
    if (!first && !tools.contains(document.activeElement)) main.focus({ preventScroll: true }); // keep the focus in the toolbar: the user may be selecting another agent
  }
  document.title = `${t(`nav.${name}`)} · ${who.agent} · recollect`;
  mark();
  view.update(where);
}

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function theme() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  kept.set("theme", next);
  set(document.getElementById("theme"), icon(next === "dark" ? "sun" : "moon"));
}

function help() {
  dialog(t("keys.title"), () => h("dl", { class: "keys" }, KEYS.map(([keys, text]) => h("div", {}, h("dt", {}, keys.split(/ +/).map((key) => h("kbd", {}, key))), h("dd", {}, t(text))))));
}

/** Follow the memory that is shown from now on. */
function follow() {
  feed.open({ restart: true });
  count();
}

// The number of pairs that wait for review

const newest = latest();
let tally = "", counting = null;

/** Count the pairs of the memory that is shown, after a pause during which more may change. */
function count() {
  clearTimeout(counting);
  counting = setTimeout(async () => {
    const found = await newest((signal) => get("/v1/review", { limit: COUNTED }, signal)).catch(() => null);
    if (found) tallied(waitingPairs(page(found)));
  }, BATCH);
}

setInterval(() => { if (view && !document.hidden) count(); }, RECOUNTED);

function tallied(text) {
  tally = text;
  const place = document.getElementById("tally");
  if (place) place.textContent = text;
}

// Changes by other clients

let waitingChanges = [], everything = false, looking = null, own = null;

/** Schedule a refresh for these changes; an empty list means that anything may have changed. */
function soon(changes) {
  everything ||= !changes.length;
  waitingChanges.push(...changes);
  if (view && looking !== view) look(view);
}

/** Refresh a view serially: under load each refresh completes before the next starts, and no change is missed. */
async function look(at) {
  looking = at;
  try {
    while (looking === at && (everything || waitingChanges.length)) {
      await new Promise((done) => { setTimeout(done, BATCH); });
      if (view !== at) return; // a new view loads its own data
      const taken = everything ? [] : waitingChanges;
      [waitingChanges, everything] = [[], false];
      await at.refresh(taken);
    }
  } finally {
    if (looking === at) looking = null;
  }
}

const seen = new Set(), due = new Set();
let asking = false;

/** Show a toast for each due reminder; a single one if more than three are due together. */
async function reminded({ id }) {
  if (seen.has(id)) return;
  due.add(id);
  if (asking) return;
  asking = true;
  while (due.size) {
    await new Promise((done) => { setTimeout(done, BATCH); });
    const announced = [...due];
    const { items } = page(await get("/v1/reminders/due", { limit: 1_000 }).catch(() => []));
    const found = items.filter((one) => !seen.has(one.id)); // all that are due, also those whose events are still on their way
    for (const shown of [...announced, ...found.map((one) => one.id)]) seen.add(shown);
    for (const shown of seen) due.delete(shown);
    if (found.length > 3) toast(t("app.remindersDue", { count: found.length }), { stays: true });
    else for (const one of found) toast(t("app.reminder", { message: one.message }), { stays: true });
  }
  asking = false;
}

const feed = new Feed((kind, data) => {
  if (kind === "late") return void (count(), soon([]));
  if (kind === "review") {
    count();
    if (name === "review") soon([]);
    return;
  }
  if (kind === "reminder") {
    if (name === "reminders") soon([]);
    return void reminded(data);
  }
  clearTimeout(own);
  if (kind === "operation") count();
  soon([data]);
}, (state, before) => {
  offline.hidden = state === "live";
  lost = state !== "live";
  offline.textContent = t("app.offline");
  document.getElementById("live")?.replaceWith(dot());
  if (state === "live" && before === "lost") {
    toast(t("app.connectedAgain"));
    for (const one of document.querySelectorAll(".problem[data-away]")) one.hidden = true;
    others();
    count();
    if (session) view ? view.refresh() : choosing() ? chooseWorkspace(who.workspace) : route();
  }
}, async () => { // an expired token leads to the login, a different one to a memory that it has access to
  const before = session, now = await get("/v1/session", alone.query).catch(() => null);
  if (session !== before) return true; // superseded by a login or another start
  if (!now) return false;
  session = now;
  if (allowed(who)) return false;
  clear();
  session = name = null;
  await begin();
  return true;
});

// The page's own writes come back through the feed. If not (connection lost, or a reminder), refresh after a delay.
network.addEventListener("changed", () => {
  clearTimeout(own);
  own = setTimeout(() => { count(); soon([]); }, 600);
});
network.addEventListener("login", () => { if (session) login(); });

// Keyboard shortcuts

let went = false;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || document.body.classList.contains("outside")) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (typing) return;
  const jump = went && JUMPS[event.key];
  went = event.key === "g";
  const done = jump ? (go(href([jump])), true)
    : event.key === "/" ? (view?.focusSearch?.(), true)
    : event.key === "?" ? (help(), true)
    : event.key === "t" ? (theme(), true)
    : event.key === "u" ? undo()
    : event.key === "n" && name !== "memory" && may("write") ? (go(href(["memory", "entry", "new"])), true)
    : view?.key?.(event);
  if (done) event.preventDefault();
});

// On a low screen, scrolling or focusing the list hides the controls above it.
main.addEventListener("scroll", ({ target }) => { if (target.matches?.(".endless")) target.parentElement.scrollTop = target.scrollTop > 0 ? main.scrollHeight : 0; }, true);
main.addEventListener("focusin", ({ target }) => { if (target.matches(".endless :focus-visible")) target.closest(".side").scrollTop = main.scrollHeight; });

// The texts of index.html, which is in English
document.getElementById("skip").textContent = t("nav.skip");
document.querySelector(".brand").setAttribute("aria-label", t("nav.home"));
document.getElementById("nav").setAttribute("aria-label", t("nav.views"));
document.getElementById("toasts").setAttribute("aria-label", t("nav.messages"));

document.getElementById("skip").addEventListener("click", () => main.focus());
addEventListener("hashchange", route);
setInterval(tick, MINUTE);
watchDrops();
addEventListener("pagehide", () => feed.close());
addEventListener("pageshow", (event) => { if (event.persisted && session) feed.open(); });
set(document.getElementById("loading"), t("common.loading")).removeAttribute("id"); // tells loading.js that the page has started
begin();
