// Conversations: which there were, what was said, what stands for the part that left the window, and how one ends.

import { Problem, conversation as at, entry as entryAt, get, latest, may, page, post } from "../api.js";
import { add, ago, ask, button, failed, h, hour, icon, many, moment, select, set, time, toast, waiting } from "../dom.js";
import { EndlessList } from "../list.js";
import { markdown } from "../markdown.js";
import { go, href } from "../route.js";
import { excerpt, marked, needles } from "../words.js";
import { notesOf } from "./memory.js";

const PAGE = 100;
const BEFORE = 20; // events shown above a turn that was searched for
const AHEAD = 800; // pixels before the end of what is there, at which more is fetched
const END = Number.MAX_SAFE_INTEGER; // no event has so high a number
const STATUSES = [["", "All"], ["active", "Active"], ["idle", "Idle"], ["archived", "Archived"]];

export class ConversationsView {
  #newest = latest();
  #query = {};
  #open = undefined;
  #turn = null;
  #info = null;
  #cursor = null;
  #all = [];
  #first = END; // the numbers of the first and the last event that are shown
  #last = 0;
  #busy = 0;
  #top = 0;
  #line = Promise.resolve();

  constructor(root) {
    this.root = root;
    this.list = new EndlessList({ row: (item) => this.#row(item), key: (item) => item.key, more: () => this.#more(), label: "Conversations" });
    this.search = h("input", { type: "search", id: "search", "aria-label": "Search what was said", placeholder: "Search what was said", autocomplete: "off", spellcheck: "false",
      oninput: () => this.#typed(), onkeydown: (event) => this.#searchKeys(event) });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Status" });
    this.channel = select([["", "All channels"]], "", (value) => this.#choose({ channel: value }), { "aria-label": "Channel" });
    this.count = h("p", { class: "count", role: "status", "aria-live": "polite" });
    this.detail = h("section", { class: "detail", "aria-label": "Conversation", onscroll: () => this.#scrolled() });
    this.side = h("section", { class: "side", "aria-label": "Conversations" }, h("div", { class: "searchbar" }, h("div", { class: "search" }, icon("search"), this.search)),
      this.chips, h("div", { class: "status-line" }, this.count, this.channel), this.list.node);
    set(root, h("div", { class: "split" }, this.side, this.detail));
    get("/v1/channels").then((answer) => {
      for (const one of page(answer).items) this.channel.append(h("option", { value: one.id }, one.name));
      this.channel.value = this.#query.channel ?? "";
    }).catch(() => {});
  }

  async update({ parts, query }) {
    const wanted = Object.fromEntries(["q", "status", "channel"].map((key) => [key, query[key] ?? ""]));
    const changed = JSON.stringify(wanted) !== JSON.stringify(this.#query);
    this.#query = wanted;
    if (!this.timer && this.search.value.trim() !== wanted.q) this.search.value = wanted.q; // what is being typed stays
    this.channel.value = wanted.channel;
    const [ref = null, turn = null] = parts;
    this.root.firstElementChild.classList.toggle("opened", ref !== null);
    if (changed) this.#load();
    this.list.mark(turn ? `${ref}/${turn}` : ref);
    if (ref !== this.#open || turn !== this.#turn) {
      [this.#open, this.#turn] = [ref, turn];
      if (ref) await this.#show();
      else set(this.detail, h("div", { class: "resting" }, h("p", {}, "Choose a conversation to read it.")));
    }
  }

  async refresh(changes = []) {
    const mine = changes.filter((one) => one.conversation_id === this.#info?.id);
    if (this.#open && this.#info && (!changes.length || mine.length)) await this.#follow();
    if (!changes.length || changes.some((one) => !this.#all.some((known) => known.id === one.conversation_id))) await this.#load({ keep: true });
  }

  key(event) {
    switch (event.key) {
      case "j": case "ArrowDown": this.list.move(1); return true;
      case "k": case "ArrowUp": this.list.move(-1); return true;
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
    } else if (event.key === "Enter" && this.list.items[0]) go(this.#address(this.list.items[0]));
    else if (event.key === "Escape") {
      event.preventDefault();
      if (this.search.value) {
        this.search.value = "";
        this.#typed();
      } else this.search.blur();
    }
  }

  #choose(change, replace = false) {
    go(href(["conversations", ...(this.#open ? [this.#open] : []), ...(this.#open && this.#turn ? [this.#turn] : [])], { ...this.#query, ...change }), { replace });
  }

  #address(item) {
    return href(["conversations", item.info.ref_code, ...(item.turn ? [String(item.turn.event.seq)] : [])], this.#query);
  }

  async #load({ keep = false } = {}) {
    const q = this.#query;
    const pressed = document.activeElement?.dataset?.status;
    set(this.chips, STATUSES.map(([value, text]) => h("button", { type: "button", class: "chip", "data-status": value || "all", "aria-pressed": String(q.status === value), onclick: () => this.#choose({ status: value }) }, text)));
    if (pressed) this.chips.querySelector(`[data-status="${pressed}"]`)?.focus();
    try {
      const found = await this.#newest(async (signal) => (q.q
        ? { items: page(await get("/v1/conversations/search", { q: q.q, unit: "turn", limit: 50, channel: q.channel }, signal)).items, next: null }
        : page(await get("/v1/conversations", { include_archived: true, channel: q.channel, limit: 100 }, signal))));
      if (!found) return;
      this.#cursor = found.next;
      if (!q.q) this.#all = found.items;
      this.#list(found.items, keep);
    } catch (error) {
      set(this.count, h("span", { class: "problem" }, error.message), " ", button("Try again", () => this.#load(), { kind: "link" }));
    }
  }

  #items(found) {
    const q = this.#query;
    return q.q ? found.filter((turn) => !q.status || turn.conversation.status === q.status).map((turn) => ({ key: `${turn.conversation.ref_code}/${turn.event.seq}`, info: turn.conversation, turn }))
      : found.filter((one) => !q.status || one.status === q.status).map((info) => ({ key: info.ref_code, info }));
  }

  #list(found, keep) {
    const q = this.#query, items = this.#items(found);
    this.list.set(items, { ended: !this.#cursor, keep });
    this.list.mark(this.#turn ? `${this.#open}/${this.#turn}` : this.#open);
    this.count.textContent = q.q ? (items.length ? many(items.length, "turn", "turns") : `Nobody said “${q.q}”.`)
      : items.length ? many(items.length, "conversation", "conversations") + (this.#cursor ? " and more" : "") : "No conversations yet. An agent that talks through recollect has them here.";
  }

  async #more() {
    const found = await get("/v1/conversations", { include_archived: true, channel: this.#query.channel, limit: 100, cursor: this.#cursor }).then(page).catch(() => ({ items: [], next: null }));
    this.#cursor = found.next;
    this.#all = this.#all.concat(found.items);
    this.list.extend(this.#items(found.items), { ended: !found.next });
  }

  #row({ info, turn, key }) {
    const wanted = needles(this.#query.q);
    const text = turn ? excerpt(turn.event.content, wanted) : excerpt(info.closing_summary ?? "", []) || (info.status === "active" ? "It still goes on." : "It has no summary.");
    return h("a", { class: "entry-row", href: this.#address({ info, turn }) },
      h("span", { class: "line" }, h("span", { class: "title" }, turn ? `${turn.event.speaker ?? role(turn.event)} in ${info.ref_code}` : info.chat_id ?? info.ref_code), h("span", { class: "when" }, time(turn ? turn.event.created_at : info.started_at))),
      h("span", { class: "snippet" }, marked(text, wanted)),
      h("span", { class: "badges" }, status(info), h("span", { class: "badge" }, info.channel_id), info.chat_id && !turn && h("span", { class: "tag" }, info.ref_code)));
  }

  // One conversation

  async #show() {
    const ref = this.#open;
    set(this.detail, waiting());
    this.#info = null;
    try {
      const turn = Number(this.#turn) || 0;
      const [info, about, older, newer] = await Promise.all([get(at(ref)), this.#told(ref), this.#events({ before: turn || END, limit: turn ? BEFORE : PAGE }), turn ? this.#events({ after: turn - 1, limit: PAGE }) : { items: [], next: null }]);
      if (ref !== this.#open) return;
      this.#info = info;
      [this.#first, this.#last, this.calls] = [END, 0, new Map()];
      this.about = h("div", { class: "about", tabindex: -1 });
      this.before = h("div", { class: "more" });
      this.events = h("div", { class: "transcript" });
      this.after = h("div", { class: "more" });
      this.#about(info, about);
      set(this.detail, h("article", { class: "pane talk", "aria-label": `Conversation ${info.ref_code}` }, this.#head(info), this.about, this.before, this.events, this.after,
        info.closing_summary && h("section", { class: "card" }, h("h2", {}, "What came of it"), said(info.closing_summary))));
      this.#earlier(older);
      this.#later(newer);
      const found = turn && this.events.querySelector(`[data-seq="${turn}"]`);
      if (found) {
        found.closest("details")?.setAttribute("open", "");
        found.classList.add("sought");
        found.tabIndex = -1;
        found.scrollIntoView({ block: "center" });
        found.focus({ preventScroll: true });
      } else this.detail.scrollTop = this.detail.scrollHeight;
      this.#top = this.detail.scrollTop;
    } catch (error) {
      if (ref === this.#open) set(this.detail, failed(error, () => this.#show()));
    }
  }

  #events(query) {
    return get(`${at(this.#open)}/events`, query).then(page);
  }

  /** What stands above the transcript. */
  #told(ref) {
    return Promise.all([get(`${at(ref)}/summary`).catch(() => null), get(`${at(ref)}/scratchpad`).catch(() => ({})), get(`${at(ref)}/checkpoint`).catch(() => null)]);
  }

  /** More is fetched when one comes near it, in both directions. Who reads what stands above the transcript is left there. */
  #scrolled() {
    const before = this.#top, top = (this.#top = this.detail.scrollTop);
    if (!this.#info || this.#busy) return;
    const view = this.detail.getBoundingClientRect(), start = this.before.getBoundingClientRect().bottom, end = this.after.getBoundingClientRect().top;
    if (top < before && this.before.firstChild && start > view.top - AHEAD && start < view.top + view.height / 2) this.#reach("before");
    else if (top > before && this.after.querySelector("button") && end < view.bottom + AHEAD) this.#reach("after");
  }

  /** Fetch what was said before or after what is shown; one after the other, so that nothing is shown twice. */
  #fetch(way) {
    const info = this.#info;
    this.#busy += 1;
    return (this.#line = this.#line.catch(() => {}).then(async () => {
      if (info !== this.#info) return;
      const found = await this.#events(way === "before" ? { before: this.#first, limit: PAGE } : { after: this.#last, limit: PAGE });
      if (info === this.#info) way === "before" ? this.#earlier(found) : this.#later(found);
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

  /** Put what was said before, newest first as it comes, above what is shown, which stays where it is. */
  #earlier({ items, next }) {
    const below = this.events.querySelector(":scope > :not([data-lone])"), place = below?.getBoundingClientRect().top;
    const whole = this.events, known = this.calls;
    this.events = h("div");
    this.calls = new Map();
    for (const event of [...items].reverse()) this.#append(event);
    for (const lone of whole.querySelectorAll("[data-lone]")) { // results whose calls had not been there
      const call = this.calls.get(lone.dataset.lone);
      if (!call || call.querySelector(".result")) continue;
      call.append(lone.querySelector(".result"));
      lone.remove();
    }
    whole.prepend(...this.events.childNodes);
    this.events = whole;
    this.calls = new Map([...this.calls, ...known]);
    this.#note(items);
    set(this.before, next && button("Show what was said before", () => this.#reach("before"), { kind: "small" }));
    if (below?.isConnected) this.detail.scrollTop += below.getBoundingClientRect().top - place;
  }

  #later({ items, next }) {
    for (const event of items) this.#append(event);
    this.#note(items);
    set(this.after, next && button("Show more", () => this.#reach("after"), { kind: "small" }), !this.events.childElementCount && h("p", { class: "hint" }, "Nothing was said yet."));
  }

  #note(items) {
    for (const { seq } of items) [this.#first, this.#last] = [Math.min(this.#first, seq), Math.max(this.#last, seq)];
  }

  /** What was said since, and how it stands now. */
  async #follow() {
    try {
      const info = await get(at(this.#open));
      if (info.id !== this.#info?.id) return;
      if (info.status !== this.#info.status) return void (await this.#show());
      const end = this.detail.scrollTop + this.detail.clientHeight > this.detail.scrollHeight - 80;
      if (!this.after.querySelector("button")) await this.#fetch("after");
      if (end) this.detail.scrollTop = this.detail.scrollHeight;
    } catch { /* the next thing that happens tries again */ }
  }

  #head(info) {
    const act = (name, verb, title, text) => button(name, async () => {
      if (!(await ask(title, text, name))) return;
      try {
        const done = await post(`${at(info.ref_code)}/${verb}`);
        toast(verb === "end" ? ended(done) : `It is ${verb === "idle" ? "idle" : "archived"} now.`);
        await Promise.all([this.#show(), this.#load({ keep: true })]);
      } catch (error) {
        toast(error.message, { bad: true });
      }
    });
    return h("header", { class: "pane-head" }, button("Back", () => go(href(["conversations"], this.#query)), { icon: "back", quiet: true, kind: "back" }),
      h("h1", {}, info.chat_id ?? `Conversation ${info.ref_code}`),
      h("div", { class: "actions" }, button("About", () => { this.#top = this.detail.scrollTop = 0; this.about.focus({ preventScroll: true }); }, { title: "What there is to know about it, above what was said" }),
        may("write") && [info.status === "active" && act("Idle", "idle", "Set it idle?", "It is marked as over, and nothing else is done: no summary, and its own entries stay. There is no way back to active."),
        info.status !== "archived" && act("Archive", "archive", "Archive it?", "It leaves the usual lists. Everything that was said stays, and so does its scratchpad. There is no way back."),
        info.status === "active" && act("End", "end", "End it?", ["A summary and a hand-off are written, decisions and lessons are kept, and what was said can be found as past talk.", "Entries of the conversation's own scope go to the trash, and it becomes idle."])]));
  }

  #about(info, [summary, pad, saved]) {
    const notes = notesOf(pad), facts = summary?.facts ?? [];
    const save = async () => {
      try {
        await post(`${at(info.ref_code)}/checkpoint`);
        toast("Saved: for seven days it can be taken up again here.");
        const told = await this.#told(info.ref_code);
        if (this.#info === info) this.#about(info, told);
      } catch (error) { toast(error.message, { bad: true }); }
    };
    set(this.about,
      h("dl", { class: "facts" }, [["Status", status(info)], ["Channel", info.channel_id], ["Ref code", h("code", {}, info.ref_code)], ["Began", moment(info.started_at)], ["Ended", info.ended_at && moment(info.ended_at)], ["Model", info.model_id], ["With", info.participants?.join(", ")]]
        .map(([name, value]) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      summary?.summary && h("section", { class: "card" }, h("h2", {}, "What stands for the part that left the window"), said(summary.summary),
        facts.length > 0 && h("dl", { class: "pairs" }, facts.map((fact) => h("div", {}, h("dt", {}, fact.key), h("dd", {}, fact.value))))),
      notes.length > 0 && h("section", { class: "card", "aria-label": "Scratchpad" }, h("h2", {}, "Scratchpad ", h("span", { class: "badge working" }, "Working Note")),
        h("dl", { class: "pairs" }, notes.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, typeof value === "string" ? value : h("pre", { tabindex: 0 }, JSON.stringify(value, null, 2))))))),
      h("p", { class: "hint" }, saved ? ["Checkpoint: saved ", time(saved.saved_at, `${ago(saved.saved_at)}, ${hour(saved.saved_at)}`), ` with the last ${many(saved.events.length, "message", "messages")}. `] : "There is no checkpoint of it. ",
        may("write") && info.status !== "archived" && button("Save a checkpoint", save, { kind: "small" })));
  }

  // What was said

  #append(event) {
    if (event.type === "CompactMarker") return void this.events.append(this.#marker(event));
    if (event.type === "ToolResultCommitted") {
      const call = this.calls.get(event.tool_call_id);
      const result = h("div", { class: "result", "data-seq": event.seq }, h("h4", {}, "Result"), h("pre", { tabindex: 0 }, event.content));
      if (call) return void call.append(result);
      return void this.events.append(h("details", { class: "tool", "data-lone": event.tool_call_id }, h("summary", {}, "Result of a tool"), result));
    }
    const who = event.speaker ?? role(event);
    const last = this.events.lastElementChild;
    const near = last?.dataset.who === who && last?.dataset.kind === event.type && event.created_at - Number(last.dataset.at) < 300_000;
    const turn = h("div", { class: `said ${event.role ?? roleOf(event.type)}${event.internal ? " internal" : ""}${near ? " near" : ""}`, "data-seq": event.seq, "data-who": who, "data-kind": event.type, "data-at": event.created_at },
      !near && h("p", { class: "who" }, h("strong", {}, who), " ", h("time", { datetime: new Date(event.created_at).toISOString(), title: moment(event.created_at) }, `${ago(event.created_at)}, ${hour(event.created_at)}`),
        event.lane === "core" && h("span", { class: "badge" }, "core"), event.internal && h("span", { class: "badge" }, "internal")),
      event.content && said(event.content));
    for (const call of event.tool_calls ?? []) {
      const name = call.function?.name ?? call.name ?? "tool";
      const box = h("details", { class: "tool" }, h("summary", {}, "Called ", h("code", {}, name)), h("h4", {}, "Arguments"), h("pre", { tabindex: 0 }, pretty(call.function?.arguments ?? call.arguments ?? "")));
      if (call.id) this.calls.set(call.id, box);
      turn.append(box);
    }
    this.events.append(turn);
  }

  #marker(event) {
    const { archive_name: name, archive_id: id, folded } = event.payload ?? {};
    const text = h("div", {});
    return h("details", { class: "marker", "data-seq": event.seq, ontoggle: (toggled) => {
      if (!toggled.target.open || text.childElementCount) return;
      get(entryAt(id ?? name)).then((entry) => add(text, said(entry.content), h("p", {}, h("a", { href: href(["memory", entry.id]) }, "Open the archive"))))
        .catch((error) => add(text, h("p", { class: "hint" }, error instanceof Problem && error.status === 404 ? "The archive was forgotten." : error.message)));
    } }, h("summary", {}, `Compacted ${time(event.created_at).textContent}: a summary stands for ${folded ? many(folded, "event", "events") : "what was said above"}`), text);
  }
}

const said = (text) => markdown(text, { name: (name) => href(["memory", name]) });
const NAMES = { UserMsg: "User", ModelOutput: "Agent", InjectedInstruction: "Instruction", CoreJobStart: "Job" };
const role = (event) => NAMES[event.type] ?? event.type;
const roleOf = (type) => ({ UserMsg: "user", ModelOutput: "assistant" })[type] ?? "system";
const status = (info) => h("span", { class: `badge status ${info.status}` }, info.status[0].toUpperCase() + info.status.slice(1));

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return typeof text === "string" ? text : JSON.stringify(text, null, 2); }
}

function ended(done) {
  const kept = [done.handoff && "a hand-off", done.decisions?.length && many(done.decisions.length, "decision", "decisions"), done.lessons?.length && many(done.lessons.length, "lesson", "lessons")].filter(Boolean);
  return `Ended. It left ${kept.join(", ") || "a summary"}.`;
}
