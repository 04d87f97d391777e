// Review view: pairs of notes that may not both hold, side by side, and which one does.

import { ask, entry as at, get, latest, may, page, post } from "../api.js";
import { button, dialog, failed, field, h, set, toast, waiting } from "../dom.js";
import { mayReplace, originClause, originWords } from "../origin.js";
import { href } from "../route.js";
import { sides } from "../words.js";
import { explained } from "./form.js";
import { moment, t, textParts } from "../texts.js";

const PAGE = 50;
const MOST = 1_000; // maximum page size of the server
const EVERY = 20_000; // polling interval in milliseconds: the feed covers pairs that are found, not every one resolved elsewhere
const KINDS = ["contradicts", "updates", "repeats"];
const SCROLLS = 1_000; // characters of a text that may need to be scrolled
const KEYS = { 1: "older", 2: "newer", 3: "both", 4: "merge" };

export class ReviewView {
  #newest = latest();
  #cards = new Map(); // by the id of the pair: its element, and its state as text
  #next = null;
  #busy = new Set(); // pairs that are being resolved

  constructor(root) {
    this.count = h("p", { class: "lead", role: "status" }, t("review.lead"));
    this.list = h("div", { class: "pairs-list" }, waiting());
    this.more = h("div", { class: "more" });
    this.node = h("div", { class: "page review" }, h("h1", { tabindex: -1 }, t("nav.review")), this.count, this.list, this.more);
    set(root, this.node);
    const timer = setInterval(() => (this.node.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
  }

  async update() { await this.refresh(); }

  /** Reload, unless the changes are those of conversations. */
  async refresh(changes = []) {
    if (changes.length && changes.every((one) => one.conversation_id)) return;
    try {
      const limit = Math.min(MOST, Math.max(PAGE, this.#cards.size));
      const found = await this.#newest(async (signal) => page(await get("/v1/review", { limit }, signal)));
      if (found) this.#draw(found.items, found.next);
    } catch (error) {
      if (error.status === 0 && this.#cards.size) return; // the frame reports it; keep the content until the server is back
      this.#cards.clear();
      set(this.more);
      set(this.list, failed(error, () => this.refresh()));
    }
  }

  /** Handle a shortcut; true if it was handled. */
  key(event) {
    const cards = [...this.list.children].filter((one) => one.dataset.id), at = cards.findIndex((one) => one.contains(document.activeElement));
    const step = { j: 1, k: -1 }[event.key];
    if (step && cards.length) {
      this.#focus(cards[at < 0 ? 0 : Math.max(0, Math.min(cards.length - 1, at + step))]);
      return true;
    }
    const press = at >= 0 && KEYS[event.key] && cards[at].querySelector(`[data-name="${KEYS[event.key]}"]`);
    press?.click();
    return Boolean(press);
  }

  async #showMore() {
    const found = page(await get("/v1/review", { limit: PAGE, cursor: this.#next }));
    this.#draw([...[...this.#cards.values()].map((one) => one.pair), ...found.items], found.next);
  }

  /** Show these pairs. An element that stays is not replaced or moved, so that no key or click meets another pair than the one seen. */
  #draw(pairs, next) {
    const before = [...this.list.children], held = before.findIndex((one) => one.contains(document.activeElement));
    const cards = new Map(pairs.map((pair) => [pair.id, this.#known(pair)]));
    for (const node of before) if (cards.get(node.dataset.id)?.node !== node) node.remove();
    let last = null;
    for (const { node } of cards.values()) {
      if (node.parentNode !== this.list) last ? last.after(node) : this.list.prepend(node);
      last = node;
    }
    this.#cards = cards;
    this.#next = next;
    if (!pairs.length) set(this.list, empty());
    set(this.more, next && button(t("common.more"), () => this.#showMore(), { kind: "small" }));
    if (held >= 0 && document.activeElement === document.body) this.#focus([...this.list.children].filter((one) => one.dataset.id)[Math.min(held, cards.size - 1)]);
  }

  /** Return the element of a pair, or a new one if something that it shows has changed. */
  #known(pair) {
    const state = JSON.stringify(pair), known = this.#cards.get(pair.id);
    return known?.state === state ? known : { pair, state, node: this.#card(pair) };
  }

  #focus(card) {
    const to = card ?? this.node.querySelector("h1");
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  }

  // One pair

  #card(pair) {
    const { older, newer } = pair, [left, right] = sides(older.content, newer.content);
    return h("article", { class: "card pair", tabindex: -1, "data-id": pair.id, "aria-label": pair.reason },
      h("p", { class: "did" }, h("strong", {}, KINDS.includes(pair.kind) ? t(`review.kind.${pair.kind}`) : pair.kind), ": ", pair.reason, "."),
      h("div", { class: "both" }, side("older", older, left), side("newer", newer, right)),
      may("write") && this.#actions(pair));
  }

  #actions(pair) {
    const { older, newer } = pair;
    const action = (name, text, says, kind) => button(text, () => this.#resolve(pair, name), { kind, key: Object.keys(KEYS).find((key) => KEYS[key] === name), title: says, "data-name": name });
    const refused = !mayReplace(newer.origin, older.origin) ? [newer, older] : !mayReplace(older.origin, newer.origin) ? [older, newer] : null;
    return h("div", { class: "stack" },
      h("div", { class: "row wrap" },
        mayReplace(older.origin, newer.origin) && action("older", t("review.olderRight"), t("review.olderRight.says")),
        mayReplace(newer.origin, older.origin) && action("newer", t("review.newerReplaces"), t("review.newerReplaces.says"), "strong"),
        action("both", t("review.keepBoth"), t("review.keepBoth.says")),
        button(t("review.mergeButton"), () => this.#merge(pair), { key: "4", title: t("review.merge.says"), "data-name": "merge" })),
      refused && h("p", { class: "hint" }, t("review.refused", { one: originClause(refused[0].origin), other: originClause(refused[1].origin) })));
  }

  async #resolve(pair, resolution) {
    try {
      await this.#send(pair, { resolution });
    } catch (error) {
      if (error.status !== 404 && error.status !== 409) throw error;
      toast(t("review.elsewhere"), { bad: true });
      await this.refresh();
    }
  }

  /** Send a resolution, once. */
  async #send(pair, body) {
    if (this.#busy.has(pair.id)) return;
    this.#busy.add(pair.id);
    try {
      await post(`/v1/review/${encodeURIComponent(pair.id)}`, body);
    } finally {
      this.#busy.delete(pair.id);
    }
    if (!this.node.isConnected) return; // another memory may be shown: an undo would go there
    this.#announce(pair, body.resolution);
    await this.refresh();
  }

  /** Report a resolution. Restoring a closed note undoes it, also for both of a merge. */
  #announce(pair, resolution) {
    const kept = resolution === "both", closed = resolution === "older" ? pair.newer : pair.older;
    const undo = async () => {
      try {
        await ask("POST", kept ? `/v1/review/${encodeURIComponent(pair.id)}/reopen` : `${at(closed.id)}/restore`, { body: {} });
        toast(t(kept ? "review.undone" : "review.bothHold"));
        if (this.node.isConnected) await this.refresh();
      } catch (error) {
        toast(explained(error), { bad: true });
      }
    };
    toast(t({ merge: "review.merged", older: "review.newerPast", both: "review.bothStay" }[resolution] ?? "review.olderPast"), { undo });
  }

  /** Ask for the text that replaces both. The dialog stays open until it is stored. */
  #merge(pair) {
    return dialog(t("review.mergeBoth"), (close) => {
      const text = h("textarea", { rows: 6, required: true, maxlength: 1_000_000, value: pair.newer.content, autofocus: true });
      const problem = h("p", { class: "problem", role: "alert", hidden: true });
      const submit = async (event) => {
        event.preventDefault();
        if (this.#busy.has(pair.id)) return;
        problem.hidden = true;
        try {
          await this.#send(pair, { resolution: "merge", content: text.value, origin: "user" });
          close();
        } catch (error) {
          set(problem, error.status === 404 || error.status === 409 ? t("review.elsewhere") : explained(error));
          problem.hidden = false;
        }
      };
      return h("form", { class: "stack", onsubmit: submit, onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit(); } },
        field(t("entry.fromNowOn"), text, t("review.merge.hint")), h("h3", {}, t("review.theOlder")), h("div", { class: "diff" }, pair.older.content.slice(0, 5_000)), problem,
        h("div", { class: "row end" }, button(t("common.cancel"), () => close()), h("button", { class: "button strong" }, t("review.merge"))));
    }, { wide: true });
  }
}

/** Create one side of a pair: its text with the differing words marked, its dates and its origin. */
function side(which, entry, text) {
  const dates = [[t("entry.holdsSince"), entry.valid_from], [t("entry.holdsUntil"), entry.valid_until]].filter(([, when]) => when);
  const [label, name] = which === "older" ? [t("review.older"), t("review.olderNote")] : [t("review.newer"), t("review.newerNote")];
  return h("div", { class: "side-of", role: "group", "aria-label": label }, h("h2", {}, label, " ", h("a", { class: "size", href: href(["memory", entry.id]), "aria-label": entry.name ? `${entry.name}, ${name}` : t("review.openNote", { note: name }) }, entry.name ?? t("review.open"))),
    h("div", { class: "diff", tabindex: entry.content.length > SCROLLS ? 0 : null, role: "group", "aria-label": t("review.textOf", { note: name }) }, text),
    h("p", { class: "hint" }, originWords(entry.origin), t("provenance.on", { when: moment(entry.created_at) }), !["agent", "user"].includes(entry.source) && textParts("review.by", { source: h("bdi", {}, entry.source) }), ".",
      dates.map(([when, day]) => ` ${when} ${moment(day)}${entry.validity_inferred ? t("review.inferred") : ""}.`)));
}

const empty = () => h("div", { class: "empty" }, h("p", {}, t("review.none")),
  h("p", { class: "hint" }, t("review.none.hint")));

/** Describe the number of open pairs, as far as one page shows it. */
export const waitingPairs = ({ items, next }) => (next ? `${items.length}+` : items.length ? String(items.length) : "");
