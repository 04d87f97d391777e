// Context view: the block an agent would get at the start of a session, by section, and what the budget cut.

import { get, latest, post } from "../api.js";
import { button, copy, failed, field, h, keepFocus, set, time } from "../dom.js";
import { stacked } from "../pictures.js";
import { go, href } from "../route.js";
import { number, t } from "../texts.js";

const PAUSE = 300; // debounce of the request, in milliseconds
const short = (text) => text.replace(/\n{2,}/g, "\n").trim();
const tokens = (text) => Math.ceil(text.length / 4);

export class ContextView {
  #newest = latest();
  #wanted = {};
  #opened = false;
  #shown = null;
  #offered = false;

  constructor(root) {
    this.command = h("input", { type: "text", name: "command", placeholder: t("context.example"), autocomplete: "off", id: "search",
      onkeydown: (event) => { if (event.key === "Escape") this.command.blur(); } });
    this.profile = h("select", { name: "profile" }, h("option", { value: "default" }, "default"));
    this.budget = h("input", { type: "number", name: "budget", min: 0, max: 1_000_000, placeholder: "2000" });
    this.total = h("p", { class: "total", role: "status" });
    this.result = h("div", { class: "result" });
    this.form = h("form", { class: "ask", oninput: () => this.#typed(), onsubmit: (event) => { event.preventDefault(); this.#go(); } },
      field(t("context.command"), this.command), field(t("context.profile"), this.profile), field(t("context.budget"), this.budget),
      h("button", { class: "button strong" }, t("context.show")));
    this.page = h("div", { class: "page" }, h("h1", {}, t("context.title")),
      h("p", { class: "lead" }, t("context.lead")), this.form, this.total, this.result);
    set(root, this.page);
  }

  /** Load the profiles; on failure the next refresh retries. */
  async #profiles() {
    this.#offered = true;
    try {
      const names = await get("/v1/profiles");
      set(this.profile, names.map((name) => h("option", { value: name }, name)));
      this.profile.value = this.#wanted.profile || "default";
    } catch {
      this.#offered = false;
    }
  }

  focusSearch() { this.command.focus(); }

  #fields() {
    return { command: this.command.value.trim(), profile: this.profile.value === "default" ? "" : this.profile.value, budget: this.budget.value };
  }

  /** Refresh after input; until then mark the block as outdated. The address changes only on submit. */
  #typed() {
    clearTimeout(this.timer);
    this.#newest(() => undefined); // abort the pending request: its input is outdated
    this.#wanted = this.#fields();
    this.#outdated(t("context.outdated"));
    this.timer = setTimeout(() => this.refresh(), PAUSE);
  }

  #outdated(text) {
    set(this.total, text);
    this.#old(true);
  }

  #old(old) {
    this.result.inert = old;
    this.result.style.opacity = old ? "0.4" : "";
  }

  #go() {
    const address = href(["context"], this.#fields());
    if (address !== location.hash) return go(address);
    clearTimeout(this.timer);
    this.refresh();
  }

  async update({ query }) {
    clearTimeout(this.timer);
    this.command.value = query.command ?? "";
    this.profile.value = query.profile || "default";
    this.budget.value = query.budget ?? "";
    this.#wanted = { ...query, budget: this.budget.value };
    if (!this.#opened && !document.activeElement?.closest("#tools")) this.command.focus(); // so that typing enters a command instead of triggering shortcuts
    this.#opened = true;
    await this.refresh();
  }

  async refresh() {
    if (!this.#offered) this.#profiles();
    if (!this.form.checkValidity()) return this.#outdated(t("context.badBudget", { reason: this.budget.validationMessage }));
    const query = this.#wanted, wanted = { command: query.command ?? "", profile: query.profile || "default" };
    try {
      const found = await this.#newest((signal) => Promise.all([
        post("/v1/context", { ...wanted, ...(query.budget && { budget: Number(query.budget) }) }, { signal, reads: true }),
        post("/v1/context", { ...wanted, budget: 1_000_000 }, { signal, reads: true }), // practically unlimited: the difference is what the budget cut
      ]));
      if (found) keepFocus(this.page, () => this.#show(...found));
    } catch (error) {
      this.#old(false);
      this.#shown = null;
      set(this.total);
      set(this.result, failed(error, () => this.refresh()));
    }
  }

  #show(block, whole) {
    this.#old(false);
    const said = JSON.stringify([block, whole]), same = said === this.#shown; // do not redraw unchanged content: the user may be reading it
    this.#shown = said;
    if (!block.text && !whole.text) {
      set(this.total);
      return void set(this.result, h("p", { class: "empty" }, t("context.empty")));
    }
    const key = (item) => `${item.entry_id} ${item.text}`;
    const parts = whole.sections.map((section) => {
      const kept = block.sections.find((one) => one.name === section.name)?.items ?? [];
      const chosen = new Set(kept.map(key));
      return { name: section.name, kept, left: section.items.filter((item) => !chosen.has(key(item))), tokens: kept.length ? tokens(`### ${section.name}\n${kept.map((item) => item.text).join("\n")}\n`) : 0 };
    });
    const budget = Number(this.#wanted.budget) || 2_000;
    const left = parts.reduce((sum, part) => sum + part.left.length, 0);
    set(this.total, h("strong", {}, t("context.about", { count: block.tokens })), t("context.of", { budget }), left ? t("context.left", { count: left }) : t("context.noneLeft"),
      " ", button(t("context.copy"), () => copy(block.text), { icon: "copy", kind: "small" }));
    if (same) return;
    const open = this.result.querySelector(".raw")?.open;
    set(this.result,
      stacked(parts.filter((part) => part.tokens).map((part) => [part.name, part.tokens]), Math.max(budget, block.tokens), t("context.sections")),
      block.failed.length > 0 && h("p", { class: "problem", role: "alert" }, t("context.failed", { parts: block.failed.join("; ") })),
      parts.map((part, index) => this.#section(part, parts.slice(0, index).filter((one) => one.tokens).length)),
      h("details", { class: "raw", open }, h("summary", {}, t("context.text")), h("pre", { tabindex: 0 }, block.text)));
  }

  #section(part, place) {
    const item = (one, gone) => h("li", { class: gone ? "gone" : null }, gone && h("span", { class: "badge" }, t("context.leftOut")), " ",
      one.entry_id ? h("a", { href: href(["memory", one.entry_id]) }, short(one.text)) : short(one.text), (one.source || one.at) && h("span", { class: "hint" }, " ", one.source, " ", time(one.at)));
    return h("section", { class: "card" }, h("h2", {}, part.tokens > 0 && h("span", { class: `part p${place % 6}` }), part.name, h("span", { class: "size" }, t("context.tokens", { count: part.tokens }))),
      h("ul", { class: "items" }, part.kept.map((one) => item(one, false)), part.left.map((one) => item(one, true))));
  }
}
