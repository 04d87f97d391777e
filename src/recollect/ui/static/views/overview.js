// Overview: what changed, what is due, what waits for review, health and use. Every number links to a view of exactly these items.

import { get, latest, may, who } from "../api.js";
import { failed, h, keepFocus, set, time, waiting } from "../dom.js";
import { bars } from "../pictures.js";
import { go, href } from "../route.js";
import { ago, moment, number, t } from "../texts.js";
import { diffNodes, excerpt } from "../words.js";
import { size } from "./upkeep.js";
import { otherMemories, welcome } from "./welcome.js";

const DAY = 86_400_000;
const COUNTED = 1_000; // counts of the server stop here
const EVERY = 20_000; // polling interval in milliseconds: the feed does not cover jobs and reminders
const LONG = 400; // characters of a text that was added or forgotten
const FIELDS = new Set(["content", "name", "tags", "category", "importance", "context", "scope", "lifetime", "valid_from", "valid_until", "superseded_by", "closed_at", "aliases", "origin"]);
const TIMES = new Set(["valid_from", "valid_until", "closed_at"]);

/** Return the start of yesterday, in local time. */
const yesterday = () => new Date(new Date().setHours(0, 0, 0, 0) - DAY / 2).setHours(0, 0, 0, 0);

/** Return a timestamp as the local date that the filters of the memory take. */
const date = (at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);

/** Return the number of changes of a kind, with a plus sign if only the newest operations were compared. */
const atLeast = (found, kind) => number(found[kind]) + (found.complete || kind === "added" ? "" : "+");

const counted = (count) => (count >= COUNTED ? `${number(COUNTED)}+` : number(count));

export class OverviewView {
  #others = [];
  #newest = latest();
  #shown = "";
  #where = { parts: [], query: {} };

  constructor(root) {
    this.node = h("div", { class: "page overview" }, waiting());
    set(root, this.node);
    const timer = setInterval(() => (this.node.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
  }

  /** Show the state of an address: the overview, or all changes since a moment. */
  async update(where) {
    if (JSON.stringify(where) !== JSON.stringify(this.#where)) this.#shown = "";
    this.#where = where;
    await this.refresh();
  }

  async refresh() {
    const { parts, query } = this.#where, list = parts[0] === "changes", since = Number(query.since) || yesterday();
    try {
      const found = await this.#newest((signal) => (list ? get("/v1/changes/since", { since: iso(since), outcome: query.outcome, before: query.before, limit: COUNTED }, signal)
        : get("/v1/overview", { since: iso(since), utc_offset: -new Date().getTimezoneOffset() }, signal)));
      if (!found) return;
      const empty = !list && !found.entries && !found.reminders.length && !found.conversations;
      this.#others = list ? [] : await otherMemories().catch(() => this.#others);
      const shown = JSON.stringify({ ...found, at: 0, empty, others: this.#others.map((one) => one.textContent) });
      if (shown === this.#shown) return; // a control that the user is about to press must not be replaced
      this.#shown = shown;
      keepFocus(this.node, () => set(this.node, list ? changes(found, query) : empty ? welcome(() => go(href(["memory", "entry", "new"]))) : [overview(found), others(this.#others)]));
    } catch (error) {
      if (error.status === 0 && this.#shown) return; // the frame reports it; keep the content until the server is back
      this.#shown = "";
      set(this.node, failed(error, () => this.refresh()));
    }
  }
}

const iso = (at) => new Date(at).toISOString();

function overview(found) {
  const { changes: since, health } = found, more = since.added + since.changed + since.forgotten - since.items.length;
  const all = (outcome) => href(["overview", "changes"], { since: since.since, outcome });
  const tile = (label, value, to, kind) => h("div", { class: kind ?? null }, h("dt", {}, label), h("dd", {}, to ? h("a", { href: to, "aria-label": `${label}: ${value}` }, value) : value));
  return [
    h("h1", {}, t("nav.overview")),
    h("dl", { class: "numbers" },
      tile(t("overview.added"), number(since.added), all("added")), ...["changed", "forgotten"].map((one) => tile(t(`overview.${one}`), atLeast(since, one), all(one))),
      tile(t("overview.due"), counted(found.due), href(["reminders"], { due: "1" }), found.due > 0 && "calls"),
      tile(t("overview.review"), counted(found.review), href(["review"]), found.review > 0 && "calls"),
      tile(t("overview.entries"), number(found.entries), href(["memory"], { kind: "all", past: "1" })),
      tile(t("nav.conversations"), counted(found.conversations), href(["conversations"]))),
    h("section", { class: "card", "aria-label": t("overview.since") }, h("h2", {}, t("overview.since"), h("span", { class: "size" }, moment(since.since))),
      since.items.length ? h("ol", { class: "net" }, since.items.map(change)) : h("p", { class: "hint" }, t("overview.nothingChanged")),
      more > 0 && h("p", { class: "more" }, h("a", { href: all() }, since.complete ? t("overview.allChanges", { count: more + since.items.length }) : t("common.more")))),
    h("div", { class: "halves" },
      h("section", { class: "card", "aria-label": t("overview.reminders") }, h("h2", {}, t("overview.reminders")),
        found.reminders.length ? h("ul", { class: "items" }, found.reminders.map((one) => h("li", {}, h("a", { href: href(["reminders"]) }, excerpt(one.message, [], 120)), " ", h("span", { class: one.due_at <= found.at ? "problem" : "hint" }, time(one.due_at)))))
          : h("p", { class: "hint" }, t("reminders.none"))),
      h("section", { class: "card", "aria-label": t("overview.mostRecalled") }, h("h2", {}, t("overview.mostRecalled"), found.most_recalled.length > 0 && h("a", { class: "size", href: href(["memory"], { sort: "recalls" }) }, t("overview.all"))),
        found.most_recalled.length ? h("ol", { class: "items" }, found.most_recalled.map((one) => h("li", {}, h("a", { href: href(["memory", one.id]) }, one.name ?? excerpt(one.content, [], 80)), " ",
          h("a", { class: "hint", href: href(["memory", one.id]) }, t("overview.recalls", { count: one.access_count }))))) : h("p", { class: "hint" }, t("overview.noRecalls")),
        h("p", { class: "never" }, t("overview.neverRecalled"), " ", h("a", { href: href(["memory"], { use: "never" }) }, counted(found.never_recalled))))),
    h("div", { class: "halves" },
      h("section", { class: "card", "aria-label": t("overview.activity") }, bars(found.entries_by_day, { title: t("overview.activity"), counted: (count) => t("memory.count.entries", { count }),
        link: (at) => href(["memory"], { since: date(at), until: date(at), kind: "all", past: "1" }) })),
      condition(health)),
  ];
}

/** Create the section with links to the other memories. */
const others = (links) => links.length > 0 && h("section", { class: "card", "aria-label": t("welcome.places") }, h("h2", {}, t("welcome.places")), h("ul", { class: "items" }, links.map((link) => h("li", {}, link))));

/** Create the section about health, which also lists what is in order. */
function condition(health) {
  const upkeep = may("admin") && who.everybody ? href(["upkeep"]) : null, linked = (text) => (upkeep ? h("a", { href: upkeep }, text) : text);
  const row = (label, value, bad = false) => h("div", {}, h("dt", {}, label), h("dd", { class: bad ? "problem" : null }, value));
  const missing = health.vectors_missing;
  return h("section", { class: "card", "aria-label": t("overview.health") }, h("h2", {}, t("overview.health")), h("dl", { class: "pairs" },
    row(t("overview.upkeep"), linked(health.last_upkeep_at === null ? t("overview.never") : ago(health.last_upkeep_at))),
    row(t("overview.failures"), linked(health.failing.length ? health.failing.join(", ") : t("overview.none")), health.failing.length > 0),
    row(t("overview.index"), t(health.index_complete ? "overview.complete" : "overview.incomplete"), !health.index_complete),
    row(t("overview.vectors"), missing === null ? t("overview.noEmbedder") : missing ? h("a", { href: href(["memory"], { use: "unembedded", kind: "all", past: "1" }) }, t("overview.missing", { missing: counted(missing) })) : t("overview.complete"), missing > 0),
    health.bytes !== null && row(t("overview.disk"), linked(size(health.bytes)))));
}

/** Create one change: what became of an entry, and the words that differ. */
function change(one) {
  const label = one.label || t("overview.erased"), gone = one.outcome === "forgotten";
  const to = gone ? (one.label ? href(["memory"], { in: "trash", q: one.label.slice(0, 40) }) : null) : href(["memory", one.entry_id]);
  const { content: before } = one.before, { content: after } = one.after;
  const fields = [...new Set([...Object.keys(one.before), ...Object.keys(one.after)])].filter((name) => name !== "content" && FIELDS.has(name));
  return h("li", {},
    h("p", { class: "did" }, h("span", { class: `badge outcome was-${one.outcome}` }, t(`overview.outcome.${one.outcome}`)), " ", to ? h("a", { href: to }, label) : label, " ", time(one.at)),
    one.outcome === "changed" ? before !== undefined && after !== undefined && before !== after && diffNodes(before, after)
      : (before ?? after) && excerpt(before ?? after, [], LONG) !== label && h("div", { class: "diff" }, h(gone ? "del" : "ins", {}, excerpt(before ?? after, [], LONG))),
    one.outcome === "changed" && fields.map((name) => h("p", { class: "changed" }, `${t(`overview.field.${name}`)}: `, value(name, one.before[name]), " → ", value(name, one.after[name]))));
}

function value(name, given) {
  if (given === undefined || given === null || given === "" || given.length === 0) return h("span", { class: "hint" }, "–");
  if (name === "superseded_by") return h("a", { href: href(["memory", given]) }, t("overview.successor"));
  return TIMES.has(name) ? moment(given) : Array.isArray(given) ? given.join(", ") : typeof given === "number" ? number(given, 2) : String(given);
}

/** Create the list of all changes since a moment. */
function changes(found, { outcome, before }) {
  const kinds = ["", "added", "changed", "forgotten"], totals = { added: found.added, changed: found.changed, forgotten: found.forgotten };
  totals[""] = found.added + found.changed + found.forgotten;
  const total = (kind) => atLeast({ ...totals, complete: found.complete }, kind);
  return [
    h("p", {}, h("a", { href: href(["overview"]) }, t("overview.back"))),
    h("h1", {}, t("overview.changesSince", { when: moment(found.since) })),
    h("nav", { class: "chips", "aria-label": t("overview.kind") }, kinds.map((one) => h("a", { class: "chip", href: href(["overview", "changes"], { since: found.since, outcome: one }), "aria-current": (outcome ?? "") === one ? "true" : null },
      `${t(one ? `overview.outcome.${one}` : "overview.every")} ${before ? "" : total(one)}`))),
    !before && found.earlier && h("p", { class: "hint" }, t("overview.newestOnly", { count: found.items.length })),
    h("section", { class: "card", "aria-label": t("overview.changes") }, found.items.length ? h("ol", { class: "net" }, found.items.map(change)) : h("p", { class: "hint" }, t("overview.nothingChanged"))),
    found.earlier && h("p", { class: "more" }, h("a", { href: href(["overview", "changes"], { since: found.since, outcome, before: found.earlier }) }, t("overview.earlier"))),
  ];
}
