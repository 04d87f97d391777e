// Memory view: incremental search, filters, a virtual list, and the open entry beside it.

import { Problem, ask as send, conversation, get, latest, may, page, post } from "../api.js";
import { ask, button, h, icon, select, set, slowly, time, toast } from "../dom.js";
import { EndlessList } from "../list.js";
import { isOuter, originWords } from "../origin.js";
import { go, href, read } from "../route.js";
import { excerpt, holds, marked, needles } from "../words.js";
import { EntryPane } from "./entry.js";
import { CATEGORIES, called, entryForm, explained, leaving, readOnly, restore, stateOf } from "./form.js";
import { ago, capital, t, textParts } from "../texts.js";
import { welcome } from "./welcome.js";

const PAGE = 100;
const FIRST = 20; // results of the first request: more than fit on a screen
const PAUSE = 60; // debounce of the search, in milliseconds
const MOST = 1_000; // maximum number of search results
const EVERY = 20_000; // polling interval of working notes, in milliseconds: the feed does not cover them
const NEW = Symbol("new"); // the form for a new entry is open; its address has an extra part, because an entry may have any name
const DAY = 86_400_000;
const FILTERS = ["q", "category", "kind", "scope", "conversation", "channel", "source", "tag", "since", "until", "past", "use", "sort", "in"];
const SPANS = [["", "any"], ["1", "day"], ["7", "week"], ["30", "month"], ["90", "quarter"], ["range", "range"]].map(([value, name]) => [value, t(`memory.time.${name}`)]);
const SORTS = [["", "newest"], ["-created", "oldest"], ["updated", "updated"], ["importance", "importance"], ["recalls", "recalls"], ["name", "name"]].map(([value, name]) => [value, t(`memory.sort.${name}`)]);
const USES = [["", "any"], ["recalled", "recalled"], ["never", "never"], ["unembedded", "unembedded"]].map(([value, name]) => [value, t(`memory.use.${name}`)]);
const KINDS = [["", "folded"], ["all", "all"], ["note", "notes"], ["archive", "archives"], ["chunk", "chunks"]].map(([value, name]) => [value, t(`memory.kind.${name}`)]);
const SCOPES = [["", t("memory.scope.any")], ...["workspace", "account", "channel", "conversation"].map((scope) => [scope, capital(t(`scope.${scope}`))])];

/** Reduce an entry to what its row shows, so that long entries are not held in memory. */
function slim(entry, more = {}) {
  return { id: entry.id, name: entry.name, content: entry.content.slice(0, 600), category: entry.category, kind: entry.kind,
    scope: entry.scope, tags: entry.tags ?? [], source: entry.source, created_at: entry.created_at, updated_at: entry.updated_at,
    importance: entry.importance, recalls: entry.access_count, conversation_id: entry.conversation_id, origin: entry.origin, state: stateOf(entry), ...more };
}

export class MemoryView {
  #newest = latest();
  #query = {};
  #open = undefined;
  #hits = new Map();
  #notes = null;
  #searched = null; // the search that produced the hits, their number, and whether they are all
  #cursor = null;
  #wanted = [];
  #asked = 0;
  #stale = false;
  #known = { sources: new Set(["agent", "user"]), tags: new Set() };

  constructor(root) {
    this.root = root;
    this.list = new EndlessList({ row: (item) => this.#row(item), key: (item) => item.id, more: () => this.#more(), label: t("memory.entries") });
    this.pane = new EntryPane({ why: (id) => this.#hits.get(id) ?? this.#searched, closed: () => this.#show(null), gone: (id) => this.#forgotten(id), past: (id) => { if (!this.#query.past) this.list.drop(new Set([id])); } });
    this.#build();
    this.list.node.addEventListener("scroll", () => { if (this.#stale && this.list.atTop) this.#load({ keep: true }); });
    const timer = setInterval(() => (this.split.isConnected ? this.#look() : clearInterval(timer)), EVERY);
  }

  #build() {
    this.search = h("input", { type: "search", id: "search", "aria-label": t("memory.search"), placeholder: t("memory.search"), autocomplete: "off",
      spellcheck: "false", "aria-keyshortcuts": "/", oninput: () => this.#typed(), onkeydown: (event) => this.#searchKeys(event) });
    this.count = h("p", { class: "count", role: "status", "aria-live": "polite" });
    this.further = h("p", { class: "further" });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": t("memory.category") });
    this.order = h("div", { class: "row" });
    this.filters = h("div", { class: "filters", id: "filters" });
    this.toggle = button(t("memory.filters"), () => this.#fold(), { icon: "filter", kind: "fold", "aria-expanded": "false", "aria-controls": "filters" });
    this.detail = h("section", { class: "detail", "aria-label": t("memory.entry") });
    this.heading = h("h1", { class: "unseen" }, t("nav.memory"));
    this.side = h("section", { class: "side", "aria-label": t("memory.side") }, this.heading,
      h("div", { class: "searchbar" }, h("div", { class: "search" }, icon("search"), this.search),
        may("write") && button(t("memory.new"), () => this.create(), { icon: "plus", kind: "strong", key: "n" })),
      this.chips, this.toggle, this.filters, h("div", { class: "status-line" }, this.count, this.order), this.further, this.list.node);
    this.split = h("div", { class: "split" }, this.side, this.detail);
    set(this.root, this.split);
  }

  /** Show the state of an address. */
  async update({ parts, query }) {
    const wanted = Object.fromEntries(FILTERS.map((key) => [key, query[key] ?? ""]));
    const changed = JSON.stringify(wanted) !== JSON.stringify(this.#query);
    if (changed) this.#query = wanted;
    if (!this.timer && this.search.value.trim() !== wanted.q) this.search.value = wanted.q; // do not overwrite pending input
    const id = parts.length < 2 ? parts[0] || null : may("write") ? NEW : null;
    if (id !== this.#open) leaving();
    if (changed) {
      this.#filters();
      this.#found(null);
      this.#load();
    }
    this.split.classList.toggle("opened", id !== null);
    this.heading.hidden = id !== null; // an open item has a heading of its own
    this.list.mark(id === NEW ? null : id === this.#open ? this.pane.id : id);
    if (id === this.#open && id !== null) return;
    this.#open = id;
    this.#whole(false);
    if (!id || id === NEW) this.pane.leave();
    if (id === NEW) this.#form();
    else if (id) this.pane.show(this.detail, id, { trashed: wanted.in === "trash" }).then((shown) => { if (this.#open === id) this.list.mark(shown); });
    else {
      this.#nothing();
      if (this.empty && !changed) this.#whole(true);
    }
  }

  /** Refresh after changes by other clients, or after a reconnect. */
  async refresh(changes = []) {
    if (!changes.length) this.#notes = null;
    await Promise.all([this.#open && this.#open !== NEW && this.pane.follow(changes), this.list.atTop ? this.#load({ keep: true }) : this.#changed()]);
  }

  /** Poll for working notes written by other clients. */
  async #look() {
    if (document.hidden || !this.#notesWanted() || !this.list.atTop) return;
    const notes = await this.#workingNotes(true).catch(() => null), known = this.list.items.filter((one) => one.working);
    if (notes && JSON.stringify(notes) !== JSON.stringify(known)) await this.#load({ keep: true });
  }

  /** Handle a shortcut; true if it was handled. */
  key(event) {
    // In the open entry, arrow keys scroll; and a hidden list is not navigated.
    if (/^(j|k|Arrow(Down|Up))$/.test(event.key) && (!this.list.shown || (event.key.length > 1 && this.detail.contains(document.activeElement)))) return false;
    switch (event.key) {
      case "j": case "ArrowDown": this.list.move(1); return true;
      case "k": case "ArrowUp": this.list.move(-1); return true;
      case "n": if (may("write")) this.create(); return true;
      case "e": return this.#edit();
      case "Escape": if (this.#open) { this.#show(null); return true; } return false;
      default: return false;
    }
  }

  focusSearch() {
    this.search.focus();
    this.search.select();
  }

  create() {
    go(href(["memory", "entry", "new"], this.#query));
  }

  // Input

  #typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.#choose({ q: this.search.value.trim() }, true);
    }, this.search.value.trim() ? PAUSE : 0);
  }

  #searchKeys(event) {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.list.focus(0);
    } else if (event.key === "Enter") this.#openFirst();
    else if (event.key === "Escape") {
      event.preventDefault();
      if (this.search.value) {
        this.search.value = "";
        this.#typed();
      } else this.search.blur();
    }
  }

  /** Open the first result for the current search text. */
  async #openFirst() {
    if (this.timer) {
      clearTimeout(this.timer);
      this.timer = null;
      this.#choose({ q: this.search.value.trim() }, true);
    }
    const query = this.#query;
    let asked, came;
    do came = await (asked = this.loading); while (asked !== this.loading);
    if (came && query === this.#query && !this.timer && this.list.items.length) go(this.#address(this.list.items[0]));
  }

  /** Change the query of the address. The entry that it names stays open: the browser reports a link that was followed only later. */
  #choose(change, replace = false) {
    const { view, parts } = read();
    if (view === "memory") go(href(["memory", ...(parts.length === 1 ? parts.filter(Boolean) : [])], { ...this.#query, ...change }), { replace });
  }

  #address(item) {
    return item.working ? href(["conversations", item.ref]) : href(["memory", item.id], this.#query);
  }

  /** Open the trash without search text and filters: those were meant for the memory. */
  #toTrash(open) {
    clearTimeout(this.timer);
    this.timer = null;
    this.#choose({ ...Object.fromEntries(FILTERS.map((key) => [key, ""])), in: open ? "trash" : "" });
  }

  /** Empty the trash, after a confirmation that says how many entries that are. */
  async #emptyTrash() {
    try {
      let count = 0, next = null;
      do {
        const answer = page(await get("/v1/trash", { limit: MOST, cursor: next }));
        count += answer.items.length;
        next = answer.next;
      } while (next);
      if (!count) return void toast(t("memory.trash.empty"));
      if (!(await ask(t("memory.trash.ask"), t("memory.trash.askText", { count }), t("memory.trash.destroy")))) return;
      const { body } = await send("DELETE", "/v1/trash");
      toast(t("memory.trash.destroyed", { count: body.emptied }));
      await this.#load();
    } catch (error) {
      toast(explained(error), { bad: true });
    }
  }

  #show(id) {
    go(href(id ? ["memory", id] : ["memory"], this.#query));
    if (!id) this.list.back();
  }

  /** Close a forgotten entry and remove its row: a list that is scrolled down is not reloaded. */
  #forgotten(id) {
    this.#show(null);
    this.list.drop(new Set([id]));
  }

  #edit() {
    const focused = this.list.focused();
    if (!may("write") || !(focused || this.#open) || focused?.working || focused?.removed_at || this.#open === NEW) return false;
    const id = focused?.id ?? this.#open;
    if (id === this.#open) this.pane.edit();
    else {
      this.pane.editNext = true;
      this.#show(id);
    }
    return true;
  }

  #fold() {
    const open = this.side.classList.toggle("unfolded");
    this.toggle.setAttribute("aria-expanded", String(open));
  }

  // The filters

  #filters() {
    const q = this.#query;
    const focused = this.side.contains(document.activeElement) && !this.list.node.contains(document.activeElement) && document.activeElement !== this.search ? document.activeElement.dataset.name ?? "" : null;
    const chip = (value, text) => h("button", { type: "button", class: "chip", "data-name": `chip ${value}`, "aria-pressed": String(!q.in && q.category === value),
      onclick: () => this.#choose({ category: value, in: "" }) }, value && h("span", { class: `spot ${value}` }), text);
    set(this.chips, chip("", t("memory.all")), CATEGORIES.map((one) => chip(one, t(`categories.${one}`))));
    set(this.order, q.in !== "trash" && select(q.q ? [["", t("memory.sort.best")], ["created", t("memory.sort.newest")], ...SORTS.slice(1)] : SORTS, q.sort, (value) => this.#choose({ sort: value }), { "aria-label": t("memory.sort"), "data-name": "sort" }),
      button(t("memory.trash"), () => this.#toTrash(!q.in), { icon: "trash", kind: "small", "aria-pressed": String(q.in === "trash"), "data-name": "trash" }),
      q.in === "trash" && may("write") && button(t("memory.trash.emptyIt"), () => this.#emptyTrash(), { kind: "small", "data-name": "empty" }));
    const range = /^\d+$/.test(q.since) || !(q.since || q.until) ? q.since : "range";
    const data = (id, values) => h("datalist", { id }, [...values].sort().slice(0, 200).map((one) => h("option", { value: one })));
    const typed = (key, label, list) => h("input", { type: "text", "aria-label": label, "data-name": key, placeholder: label, list, value: q[key], autocomplete: "off",
      onchange: (event) => this.#choose({ [key]: event.target.value.trim().replace(/^#/, "") }) });
    const dated = (key, label) => h("input", { type: "date", "aria-label": label, "data-name": key, value: q[key], onchange: (event) => this.#choose({ [key]: event.target.value }) });
    set(this.filters,
      select(SCOPES, q.scope, (value) => this.#choose({ scope: value, conversation: "", channel: "" }), { "aria-label": t("memory.scope"), "data-name": "scope" }),
      q.scope === "conversation" && this.#within("conversation", t("memory.conversation"), t("memory.allConversations"), "/v1/conversations", { include_archived: true }, (one) => [one.ref_code, `${one.title || one.ref_code}, ${ago(one.started_at)}`]),
      q.scope === "channel" && this.#within("channel", t("memory.channel"), t("memory.allChannels"), "/v1/channels", {}, (one) => [one.id, one.name]),
      select(KINDS, q.kind, (value) => this.#choose({ kind: value }), { "aria-label": t("memory.kind"), "data-name": "kind" }),
      select(SPANS, range, (value) => this.#choose(value === "range" ? { since: new Date(Date.now() - 30 * DAY).toISOString().slice(0, 10), until: "" } : { since: value, until: "" }), { "aria-label": t("memory.time"), "data-name": "time" }),
      range === "range" && [dated("since", t("memory.from")), dated("until", t("memory.to"))],
      select([["", t("memory.past.current")], ["1", t("memory.past.with")]], q.past, (value) => this.#choose({ past: value }), { "aria-label": t("memory.validity"), "data-name": "past" }),
      q.use && select(USES, q.use, (value) => this.#choose({ use: value }), { "aria-label": t("memory.use"), "data-name": "use" }),
      typed("source", t("memory.source"), "sources"), typed("tag", t("memory.tag"), "tags"),
      data("sources", this.#known.sources), data("tags", this.#known.tags),
      FILTERS.some((key) => !["q", "in", "category", "sort"].includes(key) && q[key]) && button(t("memory.clear"), () => this.#choose(Object.fromEntries(FILTERS.map((key) => [key, key === "q" ? q.q : ""]))), { kind: "link" }));
    if (focused !== null) (this.side.querySelector(`[data-name="${focused}"]`) ?? this.search).focus(); // a removed control passes the focus to the search field
    const chosen = FILTERS.filter((key) => !["q", "in", "category", "sort"].includes(key) && q[key]).length;
    this.search.placeholder = q.in === "trash" ? t("memory.searchTrash") : t("memory.search");
    this.filters.hidden = this.toggle.hidden = q.in === "trash"; // the trash has a text search only
    this.toggle.lastChild.textContent = chosen ? t("memory.filtersChosen", { count: chosen }) : t("memory.filters");
  }

  /** Create the select for a conversation or a channel. */
  #within(key, label, all, path, query, option) {
    const made = select([["", all]], "", (value) => this.#choose({ [key]: value }), { "aria-label": label, "data-name": key });
    get(path, query).catch(() => []).then((answer) => { // on failure, offer at least the current choice
      for (const [value, text] of page(answer).items.map(option)) made.append(h("option", { value }, text));
      const chosen = this.#query[key];
      made.value = chosen;
      if (made.value !== chosen) { made.append(h("option", { value: chosen }, chosen)); made.value = chosen; } // not in the list
    });
    return made;
  }

  #span() {
    const q = this.#query;
    if (/^\d+$/.test(q.since)) return { since: Math.floor((Date.now() - Number(q.since) * DAY) / 60_000) * 60_000, until: null };
    const end = q.until ? new Date(`${q.until}T00:00`).getTime() + DAY : null;
    return { since: q.since ? new Date(`${q.since}T00:00`).getTime() : null, until: end };
  }

  // Requests

  #load({ keep = false } = {}) {
    return (this.loading = this.#ask(keep));
  }

  /** Reload the list; true on success. */
  async #ask(keep) {
    const q = this.#query;
    this.#wanted = needles(q.q);
    this.#stale = false;
    this.#asked = PAGE;
    this.list.node.setAttribute("aria-busy", "true");
    const there = keep ? () => {} : slowly(this.count);
    try {
      const found = await this.#newest((signal) => (q.in === "trash" ? this.#trash(null, signal) : q.q ? this.#recall(q.sort ? MOST : FIRST, signal) : this.#browse(null, signal)));
      const notes = found && this.#notesWanted() ? await this.#workingNotes() : [];
      if (found === undefined || q !== this.#query) return false;
      this.pieces = !found.items.length && !q.in && this.#folded() && Boolean(page(await get("/v1/entries", { limit: 1, include_past: q.past && true }).catch(() => null)).items.length);
      this.talks = !found.items.length && !q.in && Boolean(page(await get("/v1/conversations", { limit: 1, include_archived: true }).catch(() => null)).items.length);
      this.#cursor = found.next;
      const items = [...notes, ...found.items], held = this.side.contains(document.activeElement);
      this.list.set(items, { ended: !found.next, keep });
      this.#learn(items);
      this.#announce(items.length, !found.next);
      if (held && document.activeElement === document.body) items.length ? this.list.back() : this.search.focus();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    } finally {
      there();
      this.list.node.removeAttribute("aria-busy");
    }
  }

  /** True if pieces of transcripts are left out: unless they are asked for, or are what another filter asks for. */
  #folded() {
    const q = this.#query;
    return !q.kind && q.category !== "handoffs" && !q.conversation && !q.source && !q.tag;
  }

  async #browse(cursor, signal) {
    const { items, next } = await this.#page(cursor, PAGE, signal);
    return { items: items.map((one) => slim(one)), next };
  }

  /** Fetch up to `limit` entries with the current filters and sort order. */
  async #page(cursor, limit, signal) {
    const q = this.#query, [field, down] = q.sort.startsWith("-") ? [q.sort.slice(1), false] : [q.sort || "created", q.sort !== "name"];
    return page(await get("/v1/entries", { limit, cursor, category: q.category, kind: q.kind === "all" ? "" : q.kind, transcripts: this.#folded() ? false : null, scope: q.scope, source: q.source, tag: q.tag,
      recalled: { recalled: true, never: false }[q.use], embedded: q.use === "unembedded" ? false : null,
      conversation: q.conversation, channel: q.channel, include_past: q.past && true, ...this.#span(), ...(q.sort && { sort: field, descending: down }) }, signal));
  }

  async #recall(limit, signal) {
    const q = this.#query, { since, until } = this.#span();
    if (q.use || (q.scope === "conversation" && !q.conversation) || (q.scope === "channel" && !q.channel)) return this.#filtered(signal);
    const given = { category: q.category, source: q.source, conversation: q.conversation, channel: q.channel, kinds: q.kind && q.kind !== "all" && [q.kind], scopes: q.scope && [q.scope], tags: q.tag && [q.tag], since, until, include_past: Boolean(q.past) };
    const body = { query: q.q, limit, mode: "hybrid", prefix: true, fuzzy: 0.2, explain: true, record: false, transcripts: !this.#folded(), ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)) };
    const hits = page(await post("/v1/recall", body, { signal, reads: true })).items;
    this.#found({ query: q.q, all: hits.length < limit, count: hits.length }, hits);
    const items = hits.map((hit) => slim(hit.entry, { snippet: excerpt(hit.entry.content, this.#wanted) }));
    return { items: sorted(items, q.sort), next: hits.length === limit && limit < MOST ? String(limit) : null };
  }

  /** Keep the hits of a search, to explain them. `searched` is null if there is no search, or no response yet. */
  #found(searched, hits = []) {
    const best = Math.max(...hits.map((hit) => hit.why?.fused ?? 0));
    this.#searched = searched;
    this.#hits = new Map(hits.map((hit, index) => [hit.entry.id, { ...hit, place: index + 1, best, query: searched.query }]));
    this.pane.explain();
  }

  /** Search entries of all conversations or channels: recall covers a single one, so filter here. There are few. */
  async #filtered(signal) {
    const found = [];
    let next = null;
    do {
      const more = await this.#page(next, MOST, signal);
      found.push(...more.items.filter((one) => this.#fits(one)).map((one) => slim(one)));
      next = more.next;
    } while (next && found.length < MOST);
    return { items: found.slice(0, MOST), next: null };
  }

  async #trash(cursor, signal) {
    for (let next = cursor; ;) {
      const answer = page(await get("/v1/trash", { limit: PAGE, cursor: next }, signal));
      const items = answer.items.filter((one) => this.#fits(one.entry)).map((one) => slim(one.entry, { removed_at: one.removed_at }));
      next = answer.next;
      if (items.length || !next) return { items, next };
    }
  }

  #fits(item) {
    return holds(`${item.name ?? ""} ${item.content}`, this.#wanted);
  }

  /** True if working notes belong in the list: they have no category, kind, tag, source or time to filter by. */
  #notesWanted() {
    const q = this.#query;
    return q.scope === "conversation" && !["in", "category", "kind", "tag", "source", "since", "until"].some((key) => q[key]);
  }

  /** Return the working notes of the selected conversation, or of the newest ones; cached unless `fresh` is set. */
  async #workingNotes(fresh = false) {
    const of = this.#query.conversation;
    if (fresh || this.#notes?.of !== of) this.#notes = { of, asked: this.#askNotes(of) };
    const asked = this.#notes.asked.catch((error) => { this.#notes = null; throw error; });
    return (await asked).filter((note) => this.#fits(note));
  }

  async #askNotes(chosen) {
    const all = chosen ? { items: [{ ref_code: chosen }] } : page(await get("/v1/conversations", { limit: PAGE, include_archived: true }));
    this.someNotes = Boolean(all.next);
    const pads = await Promise.all(all.items.map(async ({ ref_code: ref }) => [ref, await get(`${conversation(ref)}/scratchpad`).catch(() => ({}))]));
    return pads.flatMap(([ref, pad]) => notesOf(pad).map(([key, value]) => ({
      id: `scratchpad:${ref}:${key}`, working: true, name: key, content: typeof value === "string" ? value : JSON.stringify(value, null, 2), ref, tags: [], scope: "conversation",
    })));
  }

  async #more() {
    const q = this.#query;
    try {
      if (q.q && q.in !== "trash") {
        const found = await this.#newest((signal) => this.#recall(Math.min(MOST, Number(this.#cursor) * 4), signal));
        if (found === undefined) return;
        this.#cursor = found.next;
        this.list.set([...this.list.items.filter((one) => one.working), ...found.items], { ended: !found.next, keep: true });
      } else {
        const found = await this.#newest((signal) => (q.in === "trash" ? this.#trash(this.#cursor, signal) : this.#browse(this.#cursor, signal)));
        if (found === undefined) return;
        const known = new Set(this.list.items.map((one) => one.id));
        this.#cursor = found.next;
        this.list.extend(found.items.filter((one) => !known.has(one.id)), { ended: !found.next });
        this.#learn(found.items);
      }
      if (!this.#stale) this.#announce(this.list.items.length, !this.#cursor); // otherwise keep the offer to show what is new
    } catch (error) {
      this.list.set(this.list.items, { ended: true, keep: true });
      this.#failed(error);
    }
  }

  /** Collect sources and tags as suggestions for the filters. */
  #learn(items) {
    const before = this.#known.tags.size + this.#known.sources.size;
    for (const item of items) {
      if (item.source) this.#known.sources.add(item.source);
      for (const tag of item.tags) if (this.#known.tags.size < 500) this.#known.tags.add(tag);
    }
    if (this.#known.tags.size + this.#known.sources.size === before) return;
    for (const [id, values] of [["sources", this.#known.sources], ["tags", this.#known.tags]]) {
      const list = this.filters.querySelector(`#${id}`);
      if (list) set(list, [...values].sort().slice(0, 200).map((one) => h("option", { value: one })));
    }
  }

  // Rendering

  #announce(count, ended) {
    const q = this.#query;
    const none = !count;
    const narrowed = FILTERS.some((key) => q[key]);
    this.list.node.hidden = none;
    this.side.querySelector(".nothing")?.remove();
    this.empty = none && !narrowed && !this.pieces && !this.talks;
    this.#whole(this.empty && !this.#open);
    const words = t(q.in === "trash" ? "memory.count.trash" : q.q ? "memory.count.results" : "memory.count.entries", { count });
    const limited = q.q && !q.in && count >= MOST ? t("memory.count.best", { words }) : ended ? words : t("memory.count.more", { words });
    this.count.textContent = none ? "" : this.#notesWanted() && this.someNotes ? t("memory.count.notes", { words: limited, number: PAGE }) : limited;
    set(this.further, q.q && !q.in && !none && h("a", { href: href(["conversations"], { q: q.q }) }, t("memory.searchConversations")));
    if (none && !this.empty) {
      this.side.append(h("div", { class: "nothing empty", role: "status" }, q.in === "trash" ? this.#noTrash() : h("p", {}, q.q ? t("memory.nothingFor", { query: q.q }) : t(narrowed ? "memory.nothing" : "memory.noEntries")),
        !q.in && FILTERS.some((key) => key !== "q" && q[key]) && h("p", { class: "hint" }, t("memory.filterHint")),
        this.pieces && [!q.q && h("p", { class: "hint" }, t("memory.onlyPieces")), button(t(q.q ? "memory.searchPieces" : "memory.showPieces"), () => this.#choose({ kind: "all" }))],
        this.talks && h("p", {}, h("a", { href: href(["conversations"], { q: q.q }) }, t(q.q ? "memory.searchConversations" : "memory.showConversations")))));
    }
  }

  #noTrash() {
    const { q } = this.#query;
    return q ? [h("p", {}, t("memory.trash.noMatch", { query: q })), button(t("memory.trash.showAll"), () => this.#toTrash(true))] : t("memory.trash.empty");
  }

  /** Show the welcome screen of an empty memory on the whole page, or the list with an entry beside it. */
  #whole(empty) {
    // Write only to this view's node: a response may arrive when another view is already shown.
    if (empty) set(this.split, h("section", { class: "whole" }, welcome(() => this.create())));
    else if (this.side.parentNode !== this.split) set(this.split, this.side, this.detail);
  }

  #changed() {
    if (this.#stale) return;
    this.#stale = true;
    set(this.count, button(t("memory.changed"), async () => { if (await this.#load() && this.list.items.length) this.list.focus(0); }, { kind: "link" }));
  }

  #failed(error) {
    if (error instanceof Problem && error.status === 401) return;
    set(this.count, h("span", { class: "problem" }, error.message), " ", button(t("common.again"), () => this.#load({ keep: true }), { kind: "link" }));
  }

  #row(item) {
    const q = this.#query;
    if (item.working) return this.#noteRow(item);
    const text = item.snippet ?? excerpt(item.content, this.#wanted);
    const place = this.#hits.get(item.id);
    const badges = [
      item.category && h("span", { class: "badge" }, h("span", { class: `spot ${item.category}` }), called(item.category)),
      item.kind !== "note" && h("span", { class: "badge" }, capital(t(`kind.${item.kind}`))),
      item.scope !== "workspace" && h("span", { class: "badge" }, capital(t(`scope.${item.scope}`))),
      item.state && item.state !== "current" && h("span", { class: "badge" }, capital(t(`state.${item.state}`))),
      isOuter(item.origin) && originWords(item.origin, item.kind),
      item.tags.slice(0, 4).map((tag) => h("span", { class: "tag" }, `#${tag}`)),
    ];
    const body = [
      h("span", { class: item.name ? "line" : "line lone" }, item.name ? h("span", { class: "title" }, marked(item.name, this.#wanted)) : h("span", { class: "snippet" }, marked(text, this.#wanted)),
        h("span", { class: "when" }, item.removed_at ? textParts("memory.forgotten", { when: time(item.removed_at) }) : time(q.sort === "updated" ? item.updated_at : item.created_at))),
      item.name && h("span", { class: "snippet" }, marked(text, this.#wanted)),
      h("span", { class: "badges" }, badges, q.q && q.in !== "trash" && place?.why && h("span", { class: "found" }, lists(place.why))),
    ];
    const link = h("a", { class: "entry-row", href: this.#address(item) }, body);
    return item.removed_at && may("write") ? [link, button(t("memory.restore"), () => this.#bringBack(item), { kind: "small over", "aria-label": t("memory.restoreNamed", { name: item.name ?? text.slice(0, 60) }) })] : link;
  }

  #noteRow(item) {
    return h("a", { class: "entry-row", href: this.#address(item) },
      h("span", { class: "line" }, h("span", { class: "title" }, marked(item.name, this.#wanted)), h("span", { class: "when" }, item.ref)),
      h("span", { class: "snippet" }, marked(excerpt(item.content, this.#wanted), this.#wanted)),
      h("span", { class: "badges" }, h("span", { class: "badge working" }, t("memory.workingNote")), h("span", { class: "badge" }, t("app.readOnly"))));
  }

  async #bringBack(item) {
    const back = await restore(item, null, { undo: true });
    if (back) await this.#load({ keep: true });
  }

  #form() {
    set(this.detail, h("div", { class: "pane" }, h("header", { class: "pane-head" }, button(t("common.back"), () => this.#show(null), { icon: "back", quiet: true, kind: "back" }), h("h1", {}, t("memory.newEntry"))),
      entryForm({ entry: null, saved: (made) => { this.#load(); this.#show(made.id); }, left: () => this.#show(null) })));
  }

  #nothing() {
    set(this.detail, h("div", { class: "resting" }, h("p", {}, t("memory.choose")), readOnly(),
      h("dl", { class: "keys" }, [["/", "search"], ["j k", "move"], ["Enter", "open"], ["e", "edit"], ["n", "new"], ["u", "undo"], ["?", "all"]]
        .map(([key, name]) => h("div", {}, h("dt", {}, key.split(" ").map((one) => h("kbd", {}, one))), h("dd", {}, t(`memory.keys.${name}`)))))));
  }
}

const lists = (why) => [why.words && t("memory.found.words", { place: why.words[0] }), why.vector && t("memory.found.meaning", { place: why.vector[0] })].filter(Boolean).join(" · ");

/** Return the values of a scratchpad as [key, value] pairs, from a mapping or a list of keys and values. */
export function notesOf(pad) {
  const values = pad?.items ?? pad?.values ?? pad ?? {};
  return Array.isArray(values) ? values.map((one) => [one.key, one.value]) : Object.entries(values);
}

function sorted(items, sort) {
  const by = { created: (a, b) => b.created_at - a.created_at, "-created": (a, b) => a.created_at - b.created_at, updated: (a, b) => b.updated_at - a.updated_at,
    importance: (a, b) => b.importance - a.importance, recalls: (a, b) => b.recalls - a.recalls, name: (a, b) => (a.name ?? "\uffff").localeCompare(b.name ?? "\uffff") }[sort];
  return by ? [...items].sort(by) : items;
}
