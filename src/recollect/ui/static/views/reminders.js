// Reminders view: list pending reminders, create and cancel them. Delivery is left to the agents.

import { ask, get, latest, may, page, post } from "../api.js";
import { button, failed, field, h, set, time, toast } from "../dom.js";
import { ago, moment, t } from "../texts.js";

const PAGE = 100;
const EVERY = 20_000; // polling interval in milliseconds: the feed does not cover reminders created by other clients
const HOUR = 3_600_000;

export class RemindersView {
  #newest = latest();
  #items = [];
  #next = null;
  #shown = null;
  #busy = false;

  constructor(root) {
    this.message = h("input", { type: "text", name: "message", required: true, maxlength: 10_000, autocomplete: "off", placeholder: t("reminders.example") });
    this.when = h("input", { type: "datetime-local", name: "when", required: true, value: local(Math.ceil(Date.now() / HOUR) * HOUR) });
    this.list = h("div", { class: "stack", "aria-live": "polite" });
    this.node = h("div", { class: "page" }, h("h1", {}, t("nav.reminders")),
      h("p", { class: "lead" }, t("reminders.lead")),
      may("write") && h("form", { class: "ask remind", onsubmit: (event) => { event.preventDefault(); this.#create(); } },
        field(t("reminders.of"), this.message), field(t("reminders.when"), this.when), h("button", { class: "button strong" }, t("reminders.submit"))), this.list);
    set(root, this.node);
    const timer = setInterval(() => (this.node.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
  }

  focusSearch() { this.message.focus(); }

  async update({ query }) {
    this.dueOnly = Boolean(query.due);
    this.#shown = null;
    await this.refresh();
  }

  /** Reload, unless the changes are those of entries and conversations. */
  async refresh(changes = []) {
    if (changes.length) return;
    try {
      const limit = Math.min(1_000, Math.max(PAGE, this.#items.length));
      const found = await this.#newest(async (signal) => page(await get("/v1/reminders", { limit }, signal)));
      if (!found) return;
      [this.#items, this.#next] = [found.items, found.next];
      this.#draw();
    } catch (error) {
      this.#shown = null;
      set(this.list, failed(error, () => this.refresh()));
    }
  }

  async #more() {
    try {
      const found = page(await get("/v1/reminders", { limit: PAGE, cursor: this.#next }));
      [this.#items, this.#next] = [[...this.#items, ...found.items], found.next];
      this.#draw();
    } catch (error) {
      toast(error.message, { bad: true });
    }
  }

  async #create() {
    if (this.#busy) return; // ignore double clicks
    this.#busy = true;
    try {
      const made = await post("/v1/reminders", { message: this.message.value.trim(), at: new Date(this.when.value).getTime() });
      this.message.value = "";
      this.message.focus();
      toast(made.due_at <= Date.now() ? t("reminders.dueNow") : t("reminders.made", { when: ago(made.due_at) }), { undo: () => this.#cancel(made, true) });
      await this.refresh();
    } catch (error) {
      toast(error.message, { bad: true });
    } finally {
      this.#busy = false;
    }
  }

  async #cancel(one, undone = false) {
    try {
      await ask("DELETE", `/v1/reminders/${encodeURIComponent(one.id)}`);
      const { message, due_at: at, session_id, plugin, recipient } = one;
      const again = async () => { await post("/v1/reminders", { message, at, session_id, plugin, recipient }); await this.refresh(); };
      toast(t(undone ? "reminders.takenBack" : "reminders.cancelled"), undone ? {} : { undo: () => again().catch((error) => toast(error.message, { bad: true })) });
    } catch (error) {
      toast(error.message, { bad: true });
    }
    await this.refresh();
  }

  /** Redraw if something changed, and restore the focus to the same button or the one that took its place. */
  #draw() {
    const now = Date.now(), said = JSON.stringify([this.#items.map((one) => [one.id, one.claimed_at, one.due_at <= now, ago(one.due_at)]), this.#next]);
    if (said === this.#shown) return;
    this.#shown = said;
    const buttons = () => [...this.list.querySelectorAll("li button")];
    const place = buttons().indexOf(document.activeElement), id = document.activeElement?.dataset?.id;
    const due = this.#items.filter((one) => one.due_at <= now), later = this.dueOnly ? [] : this.#items.filter((one) => one.due_at > now);
    set(this.list, !due.length && !later.length && h("p", { class: "empty" }, t("reminders.none")),
      due.length > 0 && this.#part(t("reminders.past"), due), later.length > 0 && this.#part(t("reminders.coming"), later),
      this.#next && h("div", { class: "more" }, button(t("common.more"), () => this.#more(), { kind: "small" })));
    if (place >= 0) (buttons().find((one) => one.dataset.id === id) ?? buttons()[Math.min(place, buttons().length - 1)] ?? this.message).focus();
  }

  #part(title, items) {
    return h("section", { class: "card", "aria-label": title }, h("h2", {}, title, h("span", { class: "size" }, t(this.#next ? "reminders.countMore" : "reminders.count", { count: items.length }))),
      h("ul", { class: "reminders" }, items.map((one) => h("li", {},
        h("div", {}, h("p", { class: "message" }, one.message), h("p", { class: "hint" }, time(one.due_at), [moment(one.due_at), one.recipient && t("reminders.for", { recipient: one.recipient }), one.plugin && t("reminders.by", { plugin: one.plugin }), one.claimed_at && t("reminders.delivering")].filter(Boolean).map((part) => `, ${part}`))),
        may("write") && button(t("common.cancel"), () => this.#cancel(one), { kind: "small", "data-id": one.id, "aria-label": t("reminders.cancel", { message: one.message.slice(0, 80) }) })))));
  }
}

/** Format a timestamp for a datetime-local field, in local time. */
function local(at) {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
