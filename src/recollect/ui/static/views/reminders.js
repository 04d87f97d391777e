// Reminders view: list pending reminders, create and cancel them. Delivery is left to the agents.

import { ask, get, latest, may, page, post } from "../api.js";
import { ago, button, failed, field, h, many, moment, set, time, toast } from "../dom.js";

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
    this.message = h("input", { type: "text", name: "message", required: true, maxlength: 10_000, autocomplete: "off", placeholder: "call the carrier" });
    this.when = h("input", { type: "datetime-local", name: "when", required: true, value: local(Math.ceil(Date.now() / HOUR) * HOUR) });
    this.list = h("div", { class: "stack", "aria-live": "polite" });
    this.node = h("div", { class: "page" }, h("h1", {}, "Reminders"),
      h("p", { class: "lead" }, "Messages that an agent receives at a given time. This page also shows those that are due."),
      may("write") && h("form", { class: "ask remind", onsubmit: (event) => { event.preventDefault(); this.#create(); } },
        field("Remind of", this.message), field("When", this.when), h("button", { class: "button strong" }, "Remind")), this.list);
    set(root, this.node);
    const timer = setInterval(() => (this.node.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
  }

  focusSearch() { this.message.focus(); }

  async update() { await this.refresh(); }

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
      toast(made.due_at <= Date.now() ? "It is due at once: that time has passed." : `You will be reminded ${ago(made.due_at)}.`, { undo: () => this.#cancel(made, true) });
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
      toast(undone ? "It was taken back." : "Cancelled.", undone ? {} : { undo: () => again().catch((error) => toast(error.message, { bad: true })) });
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
    const due = this.#items.filter((one) => one.due_at <= now), later = this.#items.filter((one) => one.due_at > now);
    set(this.list, !this.#items.length && h("p", { class: "empty" }, "No reminders."),
      due.length > 0 && this.#part("Past due", due), later.length > 0 && this.#part("To come", later),
      this.#next && h("div", { class: "more" }, button("Show more", () => this.#more(), { kind: "small" })));
    if (place >= 0) (buttons().find((one) => one.dataset.id === id) ?? buttons()[Math.min(place, buttons().length - 1)] ?? this.message).focus();
  }

  #part(title, items) {
    return h("section", { class: "card", "aria-label": title }, h("h2", {}, title, h("span", { class: "size" }, many(items.length, "reminder", "reminders"), this.#next && " and more")),
      h("ul", { class: "reminders" }, items.map((one) => h("li", {},
        h("div", {}, h("p", { class: "message" }, one.message), h("p", { class: "hint" }, time(one.due_at), `, ${moment(one.due_at)}`, one.recipient && `, for ${one.recipient}`, one.plugin && `, by ${one.plugin}`, one.claimed_at && ", being delivered")),
        may("write") && button("Cancel", () => this.#cancel(one), { kind: "small", "data-id": one.id, "aria-label": `Cancel: ${one.message.slice(0, 80)}` })))));
  }
}

/** Format a timestamp for a datetime-local field, in local time. */
function local(at) {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
