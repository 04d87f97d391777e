// Conversations view: list and search, transcript, summary of what left the window, and ending a conversation.

import { Problem, ask as send, conversation as at, entry as entryAt, get, latest, may, page, post } from "../api.js";
import { add, ask, button, dialog, failed, h, icon, keepFocus, select, set, slowly, time, toast, waiting } from "../dom.js";
import { EndlessList } from "../list.js";
import { markdown } from "../markdown.js";
import { go, href } from "../route.js";
import { excerpt, marked, needles } from "../words.js";
import { notesOf } from "./memory.js";
import { agoAt, capital, moment, t, textParts } from "../texts.js";

const PAGE = 100;
const SCREEN = 30; // rows that fill any screen
const MOST = 1_000; // maximum page size of the server
const EVERY = 20_000; // polling interval in milliseconds: the feed does not cover scratchpads, checkpoints and statuses
const BEFORE = 20; // events shown before a turn that was found by search
const AHEAD = 800; // distance in pixels from the end at which more is fetched
const END = Number.MAX_SAFE_INTEGER; // greater than any sequence number
const STATUSES = [["", t("conversations.all")], ...["active", "idle", "archived"].map((status) => [status, capital(t(`status.${status}`))])];

const ID = /^[0-9a-f-]{16,}(\/[0-9a-f-]{16,})?$/i; // chat ids of programs, which say nothing to people
const label = (info) => info.title || (info.chat_id && !ID.test(info.chat_id) && info.chat_id) || t("conversations.noMessage");

export class ConversationsView {
  #newest = latest();
  #query = {};
  #open = undefined;
  #turn = null;
  #info = null;
  #cursor = null;
  #all = [];
  #round = 0; // counts list changes, to discard late pages of an old list
  #listed = null;
  #loading = null;
  #showing = null;
  #following = Promise.resolve();
  #first = END; // sequence numbers of the first and last event shown
  #last = 0;
  #busy = 0;
  #top = 0;
  #line = Promise.resolve();
  #offered = false;

  constructor(root) {
    this.root = root;
    this.list = new EndlessList({ row: (item) => this.#row(item), key: (item) => item.key, more: () => this.#more(), label: t("nav.conversations") });
    this.search = h("input", { type: "search", id: "search", "aria-label": t("conversations.search"), placeholder: t("conversations.search"), autocomplete: "off", spellcheck: "false",
      oninput: () => this.#typed(), onkeydown: (event) => this.#searchKeys(event) });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": t("conversations.status") });
    this.channel = select([["", t("memory.allChannels")]], "", (value) => this.#choose({ channel: value }), { "aria-label": t("memory.channel") });
    this.count = h("p", { class: "count", role: "status", "aria-live": "polite" });
    this.detail = h("section", { class: "detail", "aria-label": t("memory.conversation"), onscroll: () => this.#scrolled() });
    this.heading = h("h1", { class: "unseen" }, t("nav.conversations"));
    this.side = h("section", { class: "side", "aria-label": t("nav.conversations") }, this.heading, h("div", { class: "searchbar" }, h("div", { class: "search" }, icon("search"), this.search)),
      this.chips, h("div", { class: "status-line" }, this.count, this.channel), this.list.node);
    set(root, h("div", { class: "split" }, this.side, this.detail));
    this.#channels();
    const timer = setInterval(() => (this.side.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
  }

  async update({ parts, query }) {
    const wanted = Object.fromEntries(["q", "status", "channel"].map((key) => [key, query[key] ?? ""]));
    const changed = JSON.stringify(wanted) !== JSON.stringify(this.#query);
    this.#query = wanted;
    if (!this.timer && this.search.value.trim() !== wanted.q) this.search.value = wanted.q; // do not overwrite pending input
    this.channel.value = wanted.channel;
    const [ref = null, turn = null] = parts, focused = document.activeElement;
    const left = this.#open && !ref && (focused === document.body || this.detail.contains(focused));
    this.root.firstElementChild.classList.toggle("opened", ref !== null);
    this.heading.hidden = ref !== null; // an open item has a heading of its own
    if (changed) {
      const loading = (this.#loading = this.#load().finally(() => { if (this.#loading === loading) this.#loading = null; }));
    }
    this.list.mark(turn ? `${ref}/${turn}` : ref);
    if (ref !== this.#open || turn !== this.#turn) {
      [this.#open, this.#turn] = [ref, turn];
      if (ref) {
        const showing = (this.#showing = this.#show().finally(() => { if (this.#showing === showing) this.#showing = null; }));
        return void (await showing);
      }
      this.#info = this.pane = null;
      set(this.detail, h("div", { class: "resting" }, h("p", {}, t("conversations.choose"))));
      if (left) this.list.back();
      if (left && document.activeElement === document.body) this.root.focus({ preventScroll: true });
    }
  }

  /** Load the channels; on failure the next refresh retries. */
  async #channels() {
    this.#offered = true;
    try {
      const channels = page(await get("/v1/channels")).items;
      set(this.channel, h("option", { value: "" }, t("memory.allChannels")), channels.map((one) => h("option", { value: one.id }, one.name)));
      this.channel.value = this.#query.channel ?? "";
    } catch {
      this.#offered = false;
    }
  }

  async refresh(changes = []) {
    if (!this.#offered) this.#channels();
    while (this.#showing) await this.#showing; // the pending load may not include these changes
    const mine = changes.some((one) => one.conversation_id === this.#info?.id);
    if (this.pane && (!changes.length || mine)) await this.#follow();
    while (this.#loading) await this.#loading;
    if (this.#query.q && !changes.length) return;
    if (!changes.length || changes.some((one) => !this.#all.some((known) => known.id === one.conversation_id))) await this.#load({ keep: true });
  }

  key(event) {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step) { // in the transcript, arrow keys scroll
      if (!this.list.shown || (event.key.startsWith("Arrow") && this.detail.contains(document.activeElement))) return false;
      this.list.move(step);
      return true;
    }
    switch (event.key) {
      case "Escape": if (this.#open) { go(href(["conversations"], this.#query)); return true; } return false;
      default: return false;
    }
  }

  focusSearch() {
    this.search.focus();
    this.search.select();
  }

  // The list

  #typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.#choose({ q: this.search.value.trim() }, true);
    }, this.search.value.trim() ? 120 : 0);
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

  /** Open the best result for the current search text, even if its request is still pending. */
  async #openFirst() {
    if (this.timer) {
      clearTimeout(this.timer);
      this.timer = null;
      this.#choose({ q: this.search.value.trim() }, true);
    }
    await this.#loading;
    if (this.list.items[0]) go(this.#address(this.list.items[0]));
  }

  #choose(change, replace = false) {
    go(href(["conversations", ...(this.#open ? [this.#open] : []), ...(this.#open && this.#turn ? [this.#turn] : [])], { ...this.#query, ...change }), { replace });
  }

  #address(item) {
    return href(["conversations", item.info.ref_code, ...(item.turn ? [String(item.turn.event.seq)] : [])], this.#query);
  }

  async #load({ keep = false } = {}) {
    const q = this.#query;
    if (!keep) this.#round += 1;
    const pressed = document.activeElement?.dataset?.status;
    set(this.chips, STATUSES.map(([value, text]) => h("button", { type: "button", class: "chip", "data-status": value || "all", "aria-pressed": String(q.status === value), onclick: () => this.#choose({ status: value }) }, text)));
    const there = keep ? () => {} : slowly(this.count);
    if (pressed) this.chips.querySelector(`[data-status="${pressed}"]`)?.focus();
    try {
      const found = await this.#newest(async (signal) => (q.q
        ? { items: page(await get("/v1/conversations/search", { q: q.q, unit: "turn", limit: q.status ? 200 : 50, channel: q.channel }, signal)).items, next: null }
        : this.#page(null, keep ? Math.min(MOST, Math.max(PAGE, this.#all.length + (this.#cursor ? 0 : SCREEN))) : PAGE, signal)));
      if (!found) return;
      const rest = keep && found.next ? this.#beyond(found.items) : [];
      if (!rest.length) this.#cursor = found.next;
      if (!q.q) this.#all = [...found.items, ...rest];
      this.#list(q.q ? found.items : this.#all, keep);
    } catch (error) {
      set(this.count, h("span", { class: "problem" }, error.message), " ", button(t("common.again"), () => this.#load(), { kind: "link" }));
    } finally {
      there();
    }
  }

  /** Fetch the next page; with a status filter, which the server lacks, as many pages as fill a screen. */
  async #page(cursor, limit, signal) {
    const { status, channel } = this.#query, items = [];
    let next = cursor;
    do {
      const found = page(await get("/v1/conversations", { include_archived: !status || status === "archived", channel, limit: status ? MOST : limit, cursor: next }, signal));
      items.push(...found.items);
      next = found.next;
    } while (next && items.filter((one) => !status || one.status === status).length < SCREEN);
    return { items, next };
  }

  /** Return the loaded conversations that come after these. */
  #beyond(items) {
    const known = new Set(items.map((one) => one.id)), last = items.at(-1).started_at;
    return this.#all.filter((one) => !known.has(one.id) && one.started_at <= last);
  }

  #items(found) {
    const q = this.#query;
    return q.q ? found.filter((turn) => !q.status || turn.conversation.status === q.status).map((turn) => ({ key: `${turn.conversation.ref_code}/${turn.event.seq}`, info: turn.conversation, turn }))
      : found.filter((one) => !q.status || one.status === q.status).map((info) => ({ key: info.ref_code, info }));
  }

  #list(found, keep) {
    const items = this.#items(found), said = JSON.stringify([items, this.#cursor]);
    if (!keep || said !== this.#listed) {
      const { node, inner, items: before } = this.list, height = inner.offsetHeight / before.length, first = Math.floor(node.scrollTop / height), top = before[first]?.key;
      const place = keep && !this.list.atTop ? items.findIndex((item) => item.key === top) : -1;
      this.list.set(items, { ended: !this.#cursor, keep });
      if (place >= 0) node.scrollTop += (place - first) * height; // keep the position when rows were added above
    }
    this.#listed = said;
    this.#mark();
    this.#announce();
  }

  #mark() {
    const ref = this.#info?.ref_code ?? this.#open; // the address may contain the id instead
    this.list.mark(this.#turn ? `${ref}/${this.#turn}` : ref);
  }

  #announce() {
    const { q, status, channel } = this.#query, count = this.list.items.length;
    this.count.textContent = q ? (count ? t("conversations.turns", { count }) : t(status || channel ? "conversations.noTurnSuch" : "conversations.noTurn", { query: q }))
      : count ? t(this.#cursor ? "conversations.countMore" : "conversations.count", { count })
      : status ? t(channel ? "conversations.noneStatusHere" : "conversations.noneStatus", { status: t(`status.${status}`) }) : t(channel ? "conversations.noneHere" : "conversations.none");
  }

  async #more() {
    const round = this.#round, found = await this.#page(this.#cursor, PAGE).catch(() => null);
    if (!found || round !== this.#round) return; // further scrolling retries
    const known = new Set(this.#all.map((one) => one.id)), more = found.items.filter((one) => !known.has(one.id));
    this.#cursor = found.next;
    this.#all = this.#all.concat(more);
    this.list.extend(this.#items(more), { ended: !found.next });
    this.#announce();
  }

  #row({ info, turn, key }) {
    const wanted = needles(this.#query.q);
    const said = turn ? excerpt(turn.event.content, wanted) : excerpt(info.closing_summary ?? "", []), text = said || (t(info.status === "active" ? "conversations.goesOn" : "conversations.noSummary"));
    return h("a", { class: "entry-row", href: this.#address({ info, turn }) },
      h("span", { class: "line" }, h("span", { class: "title", dir: turn ? null : "auto" }, turn ? textParts("conversations.said", { who: h("bdi", {}, turn.event.speaker ?? role(turn.event)), title: h("bdi", {}, label(info)) }) : label(info)), h("span", { class: "when" }, time(turn ? turn.event.created_at : info.started_at))),
      (turn || text !== label(info)) && h("span", { class: "snippet" }, marked(text, wanted)),
      h("span", { class: "badges" }, status(info), h("span", { class: "badge" }, info.channel_id), !turn && h("span", { class: "tag" }, info.ref_code)));
  }

  // One conversation

  async #show() {
    const ref = this.#open;
    set(this.detail, waiting());
    this.#info = this.pane = null;
    try {
      const turn = Number(this.#turn) || 0;
      const [info, about, older, newer] = await Promise.all([get(at(ref)), this.#summary(ref), this.#events({ before: turn || END, limit: turn ? BEFORE : PAGE }), turn ? this.#events({ after: turn - 1, limit: PAGE }) : { items: [], next: null }]);
      if (ref !== this.#open || (Number(this.#turn) || 0) !== turn) return;
      [this.#first, this.#last, this.calls] = [END, 0, new Map()];
      this.about = h("div", { class: "about", tabindex: -1 });
      this.before = h("div", { class: "more" });
      this.events = h("div", { class: "transcript" });
      this.after = h("div", { class: "more" });
      this.head = h("header", { class: "pane-head" });
      this.closing = h("div", { class: "closing" });
      this.pane = h("article", { class: "pane talk", "aria-label": t("conversations.labelled", { ref: info.ref_code }) }, this.head, this.about, this.before, this.events, this.after, this.closing);
      this.shownState = null;
      set(this.detail, this.pane);
      this.#stand(info, about);
      this.#mark();
      this.#earlier(older);
      this.#later(newer);
      const found = turn && this.events.querySelector(`[data-seq="${turn}"]`);
      if (found) {
        found.closest("details")?.setAttribute("open", "");
        found.classList.add("sought");
        found.tabIndex = -1;
        found.scrollIntoView({ block: "center" });
        found.focus({ preventScroll: true });
      } else {
        this.detail.scrollTop = this.detail.scrollHeight;
        this.head.querySelector("h1").focus({ preventScroll: true });
      }
      this.#top = this.detail.scrollTop;
    } catch (error) {
      if (ref === this.#open) set(this.detail, failed(error, () => this.#show()));
    }
  }

  #events(query) {
    return get(`${at(this.#open)}/events`, query).then(page);
  }

  /** Fetch what is shown above the transcript: summary, scratchpad and checkpoint. */
  #summary(ref) {
    return Promise.all([get(`${at(ref)}/summary`).catch(() => null), get(`${at(ref)}/scratchpad`).catch(() => ({})), get(`${at(ref)}/checkpoint`).catch(() => null)]);
  }

  /** Fetch more near either end of the transcript, but not while the user reads what is above it. */
  #scrolled() {
    const before = this.#top, top = (this.#top = this.detail.scrollTop);
    if (!this.pane || this.#busy) return;
    const view = this.detail.getBoundingClientRect(), start = this.before.getBoundingClientRect().bottom, end = this.after.getBoundingClientRect().top;
    const near = start > view.top - AHEAD && start < view.top + view.height / 2, passed = start > view.top && start - (before - top) < view.top - AHEAD; // by a jump
    if (top < before && this.before.firstChild && (near || passed)) this.#reach("before");
    else if (top > before && this.after.querySelector("button") && end < view.bottom + AHEAD) this.#reach("after");
  }

  /** Fetch the events before or after those shown; serialised, so that none is shown twice. */
  #fetch(way) {
    const pane = this.pane;
    this.#busy += 1;
    return (this.#line = this.#line.catch(() => {}).then(async () => {
      if (pane !== this.pane) return;
      const found = await this.#events(way === "before" ? { before: this.#first, limit: PAGE } : { after: this.#last, limit: PAGE });
      if (pane === this.pane) way === "before" ? this.#earlier(found) : this.#later(found);
    }).finally(() => { this.#busy -= 1; }));
  }

  async #reach(way) {
    const focused = this[way].contains(document.activeElement);
    try {
      await this.#fetch(way);
      if (focused) (this[way].querySelector("button") ?? this.about).focus({ preventScroll: true });
    } catch (error) {
      toast(error.message, { bad: true });
    }
  }

  /** Prepend earlier events, which arrive newest first. Keeps the scroll position, unless the user reads what is above the transcript. */
  #earlier({ items, next }) {
    const view = this.detail.getBoundingClientRect(), asked = this.before.contains(document.activeElement);
    const below = this.events.querySelector(":scope > :not([data-lone])"), place = below?.getBoundingClientRect().top;
    const whole = this.events, known = this.calls;
    this.events = h("div");
    this.calls = new Map();
    for (const event of [...items].reverse()) this.#append(event);
    for (const lone of whole.querySelectorAll("[data-lone]")) { // tool results whose calls were not loaded before
      const call = this.calls.get(lone.dataset.lone);
      if (!call || call.querySelector(".result")) continue;
      call.append(lone.querySelector(".result"));
      lone.remove();
    }
    whole.prepend(...this.events.childNodes);
    this.events = whole;
    this.calls = new Map([...this.calls, ...known]);
    this.#note(items);
    set(this.before, next && button(t("conversations.before"), () => this.#reach("before"), { kind: "small" }));
    if (below?.isConnected && (asked || place < view.top + view.height / 2)) this.detail.scrollTop += below.getBoundingClientRect().top - place;
  }

  #later({ items, next }) {
    for (const event of items) this.#append(event);
    this.#note(items);
    set(this.after, next && button(t("common.more"), () => this.#reach("after"), { kind: "small" }), !this.events.childElementCount && h("p", { class: "hint" }, t("conversations.nothing")));
  }

  #note(items) {
    for (const { seq } of items) [this.#first, this.#last] = [Math.min(this.#first, seq), Math.max(this.#last, seq)];
  }

  /** Fetch new events and the current state; serialised, so that the newest state wins. */
  #follow() {
    return (this.#following = this.#following.then(() => this.#catchUp()));
  }

  async #catchUp() {
    const pane = this.pane, ref = this.#open;
    if (!pane) return;
    try {
      const [info, about] = await Promise.all([get(at(ref)), this.#summary(ref)]);
      if (pane !== this.pane) return;
      const end = this.detail.scrollTop + this.detail.clientHeight > this.detail.scrollHeight - 80;
      this.#stand(info, about);
      if (!this.after.querySelector("button")) await this.#fetch("after");
      if (end && pane === this.pane) this.detail.scrollTop = this.detail.scrollHeight;
    } catch { /* the next change retries */ }
  }

  /** Redraw header, facts and closing summary if they changed. Keeps the scroll position of the transcript. */
  #stand(info, about) {
    const text = JSON.stringify([info, about]);
    this.#info = info;
    if (text === this.shownState) return;
    this.shownState = text;
    const place = this.events.getBoundingClientRect().top;
    keepFocus(this.detail, () => {
      set(this.head, this.#head(info));
      this.#about(info, about);
      set(this.closing, info.closing_summary && info.closing_summary !== label(info) && h("section", { class: "card" }, h("h2", {}, t("conversations.outcome")), said(info.closing_summary)));
    });
    if (place < this.detail.getBoundingClientRect().top) this.detail.scrollTop += this.events.getBoundingClientRect().top - place;
  }

  #head(info) {
    const act = (name, verb, title, text) => button(name, async () => {
      if (!(await ask(title, text, name))) return;
      try {
        const done = await post(`${at(info.ref_code)}/${verb}`);
        toast(verb === "end" ? ended(done) : t(verb === "idle" ? "conversations.isIdle" : "conversations.isArchived"));
        await Promise.all([this.#follow(), this.#load({ keep: true })]);
        if (verb === "end") this.detail.scrollTop = this.detail.scrollHeight;
      } catch (error) {
        toast(error.message, { bad: true });
      }
    });
    return [button(t("common.back"), () => go(href(["conversations"], this.#query)), { icon: "back", quiet: true, kind: "back" }),
      h("h1", { tabindex: -1 }, label(info)),
      h("div", { class: "actions" }, button(t("conversations.about"), () => { this.#top = this.detail.scrollTop = 0; this.about.focus({ preventScroll: true }); }, { title: t("conversations.about.says") }),
        may("write") && [info.status === "active" && act(t("conversations.idle"), "idle", t("conversations.idle.ask"), t("conversations.idle.text")),
        info.status !== "archived" && act(t("conversations.archive"), "archive", t("conversations.archive.ask"), t("conversations.archive.text")),
        info.status === "active" && act(t("conversations.end"), "end", t("conversations.end.ask"), [t("conversations.end.text"), t("conversations.end.scope")]),
        button(t("conversations.erase"), () => this.#erase(at(info.ref_code), { erase: true }, "conversation", t("conversations.erase.text")), { title: t("conversations.erase.says") })])];
  }

  #about(info, [summary, pad, saved]) {
    const notes = notesOf(pad), facts = summary?.facts ?? [];
    const save = async () => {
      try {
        await post(`${at(info.ref_code)}/checkpoint`);
        toast(t("conversations.checkpoint.saved"));
        await this.#follow();
      } catch (error) { toast(error.message, { bad: true }); }
    };
    set(this.about,
      h("dl", { class: "facts" }, [[t("conversations.status"), status(info)], [t("memory.channel"), info.channel_id], [t("conversations.refCode"), h("code", {}, info.ref_code)], [t("conversations.began"), moment(info.started_at)], [t("conversations.ended"), info.ended_at && moment(info.ended_at)], [t("conversations.model"), info.model_id], [t("conversations.with"), info.participants?.join(", ")]]
        .map(([name, value]) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      summary?.summary && h("section", { class: "card" }, h("h2", {}, t("conversations.summary")), said(summary.summary),
        facts.length > 0 && h("dl", { class: "pairs" }, facts.map((fact) => h("div", {}, h("dt", {}, fact.key), h("dd", {}, fact.value))))),
      notes.length > 0 && h("section", { class: "card", "aria-label": t("conversations.scratchpad") }, h("h2", {}, t("conversations.scratchpad"), " ", h("span", { class: "badge working" }, t("memory.workingNote"))),
        h("dl", { class: "pairs" }, notes.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, typeof value === "string" ? value : h("pre", { tabindex: 0 }, JSON.stringify(value, null, 2))))))),
      h("p", { class: "hint" }, saved ? textParts("conversations.checkpoint", { when: time(saved.saved_at, agoAt), count: saved.events.length }) : t("conversations.noCheckpoint"), " ",
        may("write") && info.status !== "archived" && button(t("conversations.save"), save, { kind: "small" })));
  }

  // Transcript

  #append(event) {
    if (event.type === "CompactMarker") return void this.events.append(this.#marker(event));
    if (event.type === "ToolResultCommitted") {
      const call = this.calls.get(event.tool_call_id);
      const result = h("div", { class: "result", "data-seq": event.seq }, h("h4", {}, t("conversations.result")),
        event.erased_at ? erased(event) : [h("pre", { tabindex: 0 }, event.content), this.#eraser(event, "result")]);
      if (call) return void call.append(result);
      return void this.events.append(h("details", { class: "tool", "data-lone": event.tool_call_id }, h("summary", {}, t("conversations.resultOf")), result));
    }
    const who = event.speaker ?? role(event);
    const last = this.events.lastElementChild;
    const near = last?.dataset.who === who && last?.dataset.kind === event.type && event.created_at - Number(last.dataset.at) < 300_000;
    const turn = h("div", { class: `said ${event.role ?? roleOf(event.type)}${event.internal ? " internal" : ""}${near ? " near" : ""}`, "data-seq": event.seq, "data-who": who, "data-kind": event.type, "data-at": event.created_at },
      !near && h("p", { class: "who" }, h("strong", {}, who), " ", time(event.created_at, agoAt),
        event.lane === "core" && h("span", { class: "badge" }, t("conversations.core")), event.internal && h("span", { class: "badge" }, t("conversations.internal"))),
      event.erased_at ? erased(event) : event.content && said(event.content), !event.erased_at && this.#eraser(event, "turn"));
    for (const call of event.tool_calls ?? []) {
      const name = call.function?.name ?? call.name ?? "tool";
      const box = h("details", { class: "tool" }, h("summary", {}, textParts("conversations.called", { name: h("code", {}, name) })), h("h4", {}, t("conversations.arguments")), h("pre", { tabindex: 0 }, pretty(call.function?.arguments ?? call.arguments ?? "")));
      if (call.id) this.calls.set(call.id, box);
      turn.append(box);
    }
    this.events.append(turn);
  }

  #eraser(event, what) {
    const path = `${at(this.#open)}/events/${event.hash}`, text = event.content && `“${excerpt(event.content, [])}”`;
    return may("write") && button(t(`conversations.eraser.${what}`), () => this.#erase(path, {}, what, text), { icon: "trash", kind: "erase", quiet: true });
  }

  /** Erase an event or the whole conversation, after a confirmation that shows what would be removed and rewritten. */
  async #erase(path, query, what, said) {
    try {
      const { body: plan } = await send("DELETE", path, { query: { ...query, dry_run: true }, reads: true });
      const results = what === "conversation" ? 0 : plan.events.length - 1;
      const text = [said, ...figures(plan), results > 0 && t("conversations.erase.results", { number: results }), t("conversations.erase.limits")];
      if (!(await ask(t(`conversations.erase.${what}`), text.filter(Boolean), t("conversations.erase")))) return;
      const { body: done } = await send("DELETE", path, { query });
      await this.#show();
      await dialog(t("conversations.erasedTitle"), (close) => h("div", { class: "stack" }, figures(done).map((line) => h("p", {}, line)), h("p", {}, t("conversations.remains")), h("ul", {}, done.remaining.map((line) => h("li", {}, line))),
        h("div", { class: "row end" }, button(t("conversations.done"), () => close(), { kind: "strong", autofocus: true }))));
    } catch (error) {
      toast(error.message, { bad: true });
    }
  }

  #marker(event) {
    const { archive_name: name, archive_id: id, folded } = event.payload ?? {};
    const text = h("div", {});
    return h("details", { class: "marker", "data-seq": event.seq, ontoggle: (toggled) => {
      if (!toggled.target.open || text.childElementCount) return;
      get(entryAt(id ?? name)).then((entry) => add(text, said(entry.content), h("p", {}, h("a", { href: href(["memory", entry.id]) }, t("conversations.openArchive")))))
        .catch((error) => add(text, h("p", { class: "hint" }, error instanceof Problem && error.status === 404 ? t("conversations.archiveForgotten") : error.message)));
    } }, h("summary", {}, t(folded ? "conversations.compacted" : "conversations.compactedAbove", { when: time(event.created_at).textContent, count: folded })), text);
  }
}

const said = (text) => markdown(text, { name: (name) => href(["memory", name]) });
const NAMED = ["UserMsg", "ModelOutput", "InjectedInstruction", "CoreJobStart"];
const role = (event) => (NAMED.includes(event.type) ? t(`role.${event.type}`) : event.type);
const roleOf = (type) => ({ UserMsg: "user", ModelOutput: "assistant" })[type] ?? "system";
const status = (info) => h("span", { class: `badge status ${info.status}` }, capital(t(`status.${info.status}`)));

const erased = (event) => h("p", { class: "hint" }, textParts("conversations.erased", { when: time(event.erased_at, agoAt) }));

/** Describe what a receipt removed and rewrote, a line each. */
function figures(receipt) {
  const all = (places, key) => places.map((one) => `${one.place} (${one[key]})`).join(", ");
  return [receipt.removed.length && t("conversations.removed", { places: all(receipt.removed, "removed") }), receipt.rewritten.length && t("conversations.rewritten", { places: all(receipt.rewritten, "rewritten") })].filter(Boolean);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return typeof text === "string" ? text : JSON.stringify(text, null, 2); }
}

function ended(done) {
  const kept = [done.handoff && t("conversations.end.handoff"), done.decisions?.length && t("conversations.end.decisions", { count: done.decisions.length }), done.lessons?.length && t("conversations.end.lessons", { count: done.lessons.length })].filter(Boolean);
  return t("conversations.end.done", { what: kept.join(", ") || t("conversations.end.summary") });
}
