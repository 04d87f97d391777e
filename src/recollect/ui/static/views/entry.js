// One entry: what it says, what it is called, where it comes from, how it fades, what was done to it, what it is tied to.

import { Problem, ask, entry as at, get, may, page } from "../api.js";
import { askText, button, day, failed, h, many, moment, number, set, time, toast, waiting } from "../dom.js";
import { markdown } from "../markdown.js";
import { decayCurve, whyPicture } from "../pictures.js";
import { href } from "../route.js";
import { diffNodes } from "../words.js";
import { called, tellChange, entryForm, explained, forget, restore, reversed } from "./form.js";

const DID = { add: "Made", write: "Changed", rename: "Renamed", alias: "Got one more name", remove: "Forgotten", restore: "Restored", erase: "Erased" };
const LIFETIMES = { conversation: "the conversation", short_term: "short term", mid_term: "mid term", long_term: "long term" };
const title = (entry) => entry.name ?? (entry.content.split("\n").map((line) => line.replace(/^[#>*\-\s]+/, "").trim()).find(Boolean) ?? "").slice(0, 120);
const label = (entry) => entry.name ?? `${title(entry).slice(0, 80)}`;

export class EntryPane {
  #id = null;
  #entry = null;
  #etag = null;
  #editing = false;
  #turn = 0;

  /** `why(id)` gives the hit that an entry was, `closed()` and `gone()` are told when it is to leave. */
  constructor({ why, closed, gone }) {
    this.why = why;
    this.closed = closed;
    this.gone = gone;
  }

  /** The id of the entry that is shown, by whatever name it was asked for. */
  get id() { return this.#entry?.id ?? this.#id; }

  async show(root, id) {
    this.root = root;
    this.#id = id;
    this.#entry = null;
    this.#editing = false;
    set(root, waiting());
    await this.#load();
    if (this.editNext && this.#entry) this.edit();
    else if (this.#entry) this.root.querySelector("h1")?.focus({ preventScroll: true });
    this.editNext = false;
    root.scrollTop = 0;
    return this.id;
  }

  /** Read it again, because something happened to it. What is being written stays. */
  async reload() {
    if (!this.#editing) return this.#load();
    const note = this.root.querySelector(".pane > .elsewhere");
    if (note) note.hidden = false;
  }

  edit() {
    if (!this.#entry || !may("write") || this.#editing) return;
    this.#editing = true;
    const done = async () => {
      this.#editing = false;
      await this.#load();
      this.root.querySelector("h1")?.focus({ preventScroll: true });
    };
    set(this.root, h("div", { class: "pane" }, this.#head([]),
      h("p", { class: "elsewhere", hidden: true, role: "status" }, "It was changed elsewhere meanwhile. Saving will show both texts."),
      entryForm({ entry: this.#entry, etag: this.#etag, saved: done, left: done })));
  }

  async #load() {
    const id = this.#id, turn = ++this.#turn;
    try {
      const { body, etag } = await ask("GET", at(id));
      if (turn !== this.#turn) return;
      this.#entry = body;
      this.#etag = etag;
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#entry = null;
      if (error instanceof Problem && error.status === 404) await this.#missing(id, error);
      else set(this.root, failed(error, () => this.#load()));
      return;
    }
    const scroll = this.root.scrollTop, explaining = this.root.querySelector("#why")?.hidden === false, known = new Set([...this.root.querySelectorAll("details[open]")].map((one) => one.dataset.part));
    this.#draw();
    if (explaining) this.root.querySelector("[aria-controls=why]")?.click();
    for (const one of this.root.querySelectorAll("details")) if (known.has(one.dataset.part)) one.open = true;
    this.root.scrollTop = scroll;
  }

  /** An entry that is not there: forgotten ones have a history, and a way back. */
  async #missing(id, error) {
    const past = await get(`${at(id)}/history`).then(page).catch(() => null);
    const last = past?.items.at(-1);
    if (last?.operation !== "remove") return void set(this.root, failed(error));
    const was = { id: last.entry_id, name: last.before.name ?? null };
    set(this.root, h("div", { class: "empty" }, h("p", {}, was.name ? `“${was.name}” was forgotten ` : "This entry was forgotten ", time(last.at), "."),
      may("write") && button("Bring it back", () => restore(was, () => this.#load()), { kind: "strong" })));
  }

  #head(actions) {
    const entry = this.#entry;
    return h("header", { class: "pane-head" }, button("Back", this.closed, { icon: "back", quiet: true, kind: "back" }),
      h("h1", { tabindex: -1 }, title(entry)), h("div", { class: "actions" }, actions));
  }

  #draw() {
    const entry = this.#entry, hit = this.why(entry.id), write = may("write");
    const broken = new Set();
    const text = () => markdown(entry.content, { name: (name) => (broken.has(name) ? null : href(["memory", name])) });
    const content = h("div", { class: "content" }, text());
    const why = h("div", { class: "why", hidden: true, id: "why" });
    const asked = hit?.why && button("Why this?", () => {
      why.hidden = !why.hidden;
      asked.setAttribute("aria-expanded", String(!why.hidden));
    }, { "aria-expanded": "false", "aria-controls": "why" });
    if (hit?.why) {
      set(why, h("h2", {}, `Why “${hit.query}” finds this`), whyPicture(hit));
    }
    const links = h("div"), curve = h("div"), past = h("div");
    set(this.root, h("article", { class: "pane", "aria-label": title(entry) },
      this.#head([asked, write && button("Edit", () => this.edit(), { icon: "pencil", key: "e" }), write && button("Forget", () => forget(entry, this.gone), { icon: "trash" })]),
      this.#facts(entry), why, content, links,
      h("section", {}, h("h2", {}, "Names"), this.#names(entry, write)),
      this.#origin(entry),
      h("section", {}, h("h2", {}, "How present it is"), curve),
      past));
    const own = (node, made) => { if (this.#entry === entry) set(node, made); };
    get(`${at(entry.id)}/links`).then((found) => {
      for (const name of found.broken) broken.add(name);
      if (found.broken.length) own(content, text());
      own(links, this.#links(found));
    }).catch(() => {});
    get(`${at(entry.id)}/accesses`).then((found) => own(curve, decayCurve(found))).catch((error) => own(curve, h("p", { class: "hint" }, error.message)));
    get(`${at(entry.id)}/history`).then((found) => own(past, this.#history(page(found).items))).catch(() => {});
  }

  #facts(entry) {
    const fact = (name, value) => value !== null && value !== undefined && value !== "" && h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return h("dl", { class: "facts" },
      fact("Category", entry.category && h("span", { class: "badge" }, h("span", { class: `spot ${entry.category}` }), called(entry.category))),
      entry.kind !== "note" && fact("Kind", entry.kind),
      fact("Tags", entry.tags.length > 0 && entry.tags.map((tag) => [h("a", { class: "tag", href: href(["memory"], { tag }) }, `#${tag}`), " "])),
      fact("Written", time(entry.created_at)),
      entry.updated_at !== entry.created_at && fact("Changed", time(entry.updated_at)),
      fact("Importance", [h("meter", { min: 0, max: 1, value: entry.importance, "aria-hidden": "true" }), ` ${number(entry.importance, 2)}`]),
      fact("Scope", entry.scope), fact("Meant for", LIFETIMES[entry.lifetime] ?? entry.lifetime),
      fact("Recalled", entry.access_count ? [many(entry.access_count, "time", "times"), entry.accessed_at && [", ", time(entry.accessed_at)]] : "never"));
  }

  #names(entry, write) {
    const change = async (title, label, path, value, yes) => {
      const name = await askText(title, label, value, yes);
      if (!name || name === value) return;
      try {
        await ask("POST", `${at(entry.id)}/${path}`, { body: { name }, etag: this.#etag });
        toast(path === "rename" ? `It is now called “${name}”.` : `“${name}” leads here, too.`,
          path === "rename" && entry.name ? { undo: async () => {
            await ask("POST", `${at(entry.id)}/rename`, { body: { name: entry.name } });
            toast(`It is called “${entry.name}” again; “${name}” still leads here.`);
          } } : {});
        this.#load();
      } catch (error) {
        toast(explained(error), { bad: true });
        if (error.status === 412) this.#load();
      }
    };
    return h("p", { class: "names" },
      entry.name ? [h("strong", {}, entry.name), entry.aliases.length > 0 && [", also ", entry.aliases.map((one, index) => [index > 0 && ", ", h("span", { class: "alias" }, one)])]] : h("span", { class: "hint" }, "It has no name. "),
      write && h("span", { class: "row inline" },
        button(entry.name ? "Rename" : "Give it a name", () => change(entry.name ? "Rename it" : "Name it", "New name", "rename", entry.name ?? "", entry.name ? "Rename" : "Name it"), { kind: "small" }),
        button("Add an alias", () => change("One more name", "Alias", "aliases", "", "Add"), { kind: "small" })));
  }

  #origin(entry) {
    const said = entry.conversation_id && h("a", { href: href(["conversations", entry.conversation_id, ...(entry.first_event ? [String(entry.first_event)] : [])]) },
      entry.first_event ? "the turns that it stands for" : "its conversation");
    return h("section", {}, h("h2", {}, "Where it comes from"),
      h("p", {}, "Written by ", h("strong", {}, entry.source), " on ", moment(entry.created_at),
        entry.channel_id && [", in the channel ", h("strong", {}, entry.channel_id)], said && [". See ", said], "."),
      entry.context && h("p", { class: "quote" }, entry.context));
  }

  #links({ out, back, broken }) {
    const list = (name, entries) => entries.length > 0 && h("div", {}, h("h3", {}, name), h("ul", { class: "links" },
      entries.map((one) => h("li", {}, h("a", { href: href(["memory", one.id]) }, label(one))))));
    if (!out.length && !back.length && !broken.length) return null;
    return h("section", { class: "linked" }, h("h2", {}, "Links"), h("div", { class: "columns" }, list("It links to", out), list("Linked from", back),
      broken.length > 0 && h("div", {}, h("h3", {}, "Leads nowhere"), h("ul", { class: "links" }, broken.map((one) => h("li", { class: "broken" }, one))))));
  }

  #history(revisions) {
    return h("details", { class: "history", "data-part": "history", open: revisions.length > 1 }, h("summary", {}, h("h2", {}, "History"), ` ${many(revisions.length, "change", "changes")}`),
      h("ol", {}, [...revisions].reverse().map((one) => h("li", {},
        h("p", { class: "did" }, h("strong", {}, DID[one.operation] ?? one.operation), " by ", one.actor, ", ", time(one.at)),
        this.#differences(one)))));
  }

  #differences(one) {
    if (one.operation === "add" || one.operation === "remove") return null;
    const fields = [...new Set([...Object.keys(one.before), ...Object.keys(one.after)])]
      .filter((field) => !["updated_at", "content_hash", "id", "seq", "vault_id", "concept_tags"].includes(field));
    const shown = (value) => (Array.isArray(value) ? value.join(", ") : value === null || value === undefined ? "" : String(value));
    const changed = fields.filter((field) => JSON.stringify(one.before[field]) !== JSON.stringify(one.after[field]));
    return [
      changed.filter((field) => field !== "content").map((field) => h("p", { class: "changed" }, `${field}: `, shown(one.before[field]) && [h("del", {}, shown(one.before[field])), " "], shown(one.after[field]) && h("ins", {}, shown(one.after[field])))),
      changed.includes("content") && diffNodes(String(one.before.content ?? ""), String(one.after.content ?? "")),
      one.operation === "write" && changed.includes("content") && may("write") && button("Bring back the text before", () => this.#revert(one), { kind: "small" }),
    ];
  }

  /** Put the fields back that a change replaced. It is a change like any other: nothing is lost by it. */
  async #revert(one) {
    const entry = this.#entry, fields = Object.keys(one.before).filter((field) => ["content", "tags", "context", "category", "importance"].includes(field));
    try {
      const { etag } = await ask("PATCH", at(entry.id), { body: reversed(fields, one.before), etag: this.#etag });
      tellChange(`As it was before ${day(one.at)}.`, entry.id, fields, entry, etag);
      this.#load();
    } catch (error) {
      toast(error.message, { bad: true });
    }
  }
}
