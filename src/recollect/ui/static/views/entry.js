// Entry pane: content, names, origin, decay, history and links of one entry.

import { ask, entry as at, get, may, page } from "../api.js";
import { askText, button, dialog, field, failed, h, keepFocus, set, time, toast, waiting } from "../dom.js";
import { markdown } from "../markdown.js";
import { decayCurve, whyPicture } from "../pictures.js";
import { originWords } from "../origin.js";
import { go, href } from "../route.js";
import { diffNodes } from "../words.js";
import { FIELDS, called, entryForm, explained, fieldName, forget, forgetting, hasDraft, restore, reversed, shown, stateOf, announceChange } from "./form.js";
import { trail } from "./provenance.js";
import { listed, moment, number, t, textParts } from "../texts.js";

const OPERATIONS = ["add", "write", "rename", "alias", "remove", "restore", "erase"];
const LIFETIMES = ["conversation", "short_term", "mid_term", "long_term"];
const title = (entry) => entry.name ?? (entry.content.split("\n").map((line) => line.replace(/^[#>*\-\s]+/, "").trim()).find(Boolean) ?? entry.content.trim()).slice(0, 120);
const label = (entry) => entry.name ?? `${title(entry).slice(0, 80)}`;

export class EntryPane {
  #id = null;
  #entry = null;
  #etag = null;
  #editing = false;
  #turn = 0;
  #trashed = false;
  #explaining = false;
  #showing = null; // promise of the pending load
  #said = null; // what is shown instead of an entry: a removal or an error
  #tie = null; // draws the links of the entry
  #sought = false; // a query was selected here: scroll to its explanation once it is drawn

  /** `why(id)` returns the entry's hit, or the search that did not find it; `closed()` is called on Back, `gone(id)` once it is forgotten, `past(id)` once it no longer holds. */
  constructor({ why, closed, gone, past }) {
    this.why = why;
    this.closed = closed;
    this.gone = gone;
    this.past = past;
  }

  /** The id of the entry shown, even if it was requested by name. */
  get id() { return this.#entry?.id ?? this.#id; }

  /** Show an entry; `trashed` if it was opened from the trash. */
  async show(root, id, { trashed = false } = {}) {
    this.root = root;
    this.#id = id;
    this.#entry = null;
    this.#editing = this.#explaining = this.#sought = false;
    this.#trashed = trashed;
    this.#said = null;
    set(root, waiting());
    const showing = (this.#showing = this.#load().finally(() => { if (this.#showing === showing) this.#showing = null; }));
    await showing;
    if (this.#id !== id) return null; // superseded by another entry
    if (this.editNext && this.#entry) this.edit();
    else this.root.querySelector("h1")?.focus({ preventScroll: true });
    this.editNext = false;
    root.scrollTop = 0;
    return this.id;
  }

  /** Reset the pane and discard pending responses. */
  leave() {
    this.#turn++;
    this.#id = this.#entry = null;
    this.#editing = false;
  }

  /** Refresh after changes by other clients; an empty list means that anything may have changed. */
  async follow(changes) {
    const id = this.#id;
    while (this.#showing) await this.#showing; // the pending load may not include these changes
    if (this.#id !== id || id === null) return; // another entry was loaded later than the changes
    if (!changes.length || changes.some((one) => one.entry_id && (!this.#entry || one.entry_id === this.#entry.id))) await this.#reload();
    else if (this.#entry && changes.some((one) => one.entry_id)) await this.#relink();
  }

  /** Reload links and backlinks, which depend on other entries. */
  async #relink() {
    const tie = this.#tie, found = await get(`${at(this.#entry.id)}/links`).catch(() => null);
    if (found && tie === this.#tie) tie(found);
  }

  /** Reload the entry after a change. While it is edited, only show a notice. */
  async #reload() {
    await forgetting(this.id);
    if (this.#id === null) return;
    if (!this.#editing) return this.#load();
    const note = this.root.querySelector(".pane > .elsewhere"), known = this.#etag;
    const { etag, status } = await ask("GET", at(this.id)).catch((error) => error);
    note.hidden = etag === known || (status !== undefined && status !== 404);
    note.textContent = t(status === 404 ? "entry.forgottenElsewhere" : "entry.changedElsewhere");
  }

  /** Explain why the current search found the entry, or that it did not. */
  explain() {
    const why = this.root?.querySelector("#why"), asked = this.root?.querySelector("[aria-controls=why]");
    if (!why || !this.#entry) return;
    const hit = this.why(this.#entry.id), found = Boolean(hit?.why);
    asked.hidden = !found;
    why.hidden = !hit || !this.#explaining;
    asked.setAttribute("aria-expanded", String(!why.hidden));
    set(why, found ? [h("h2", {}, t("entry.why", { query: hit.query })), whyPicture(hit)]
      : hit && h("p", {}, hit.all ? t("entry.why.not", { query: hit.query }) : t("entry.why.notBest", { query: hit.query, count: hit.count })));
    if (!hit || !this.#sought) return;
    this.#sought = false;
    why.scrollIntoView({ block: "nearest" });
    (found ? asked : this.root.querySelector("h1")).focus({ preventScroll: true });
  }

  edit() {
    if (!this.#entry || !may("write") || this.#editing) return;
    this.#turn++; // a pending response must not replace the form
    this.#editing = true;
    this.#explaining = false;
    const done = async () => {
      this.#editing = false;
      await this.#load();
      this.root.querySelector("h1")?.focus({ preventScroll: true });
    };
    set(this.root, h("div", { class: "pane" }, this.#head(this.#entry, []), h("p", { class: "elsewhere", hidden: true, role: "status" }),
      entryForm({ entry: this.#entry, etag: this.#etag, saved: done, left: done })));
  }

  async #load() {
    const id = this.#id, turn = ++this.#turn;
    let found, problem, removal = this.#trashed && await this.#removal(id);
    if (!removal) {
      try {
        found = await ask("GET", at(id));
      } catch (error) {
        problem = error;
        if (error.status === 404) removal = await this.#removal(id);
      }
    }
    const parts = found ? ["links", "accesses", "history", "provenance"].map((part) => get(`${at(id)}/${part}`)) : [], all = Promise.allSettled(parts);
    const again = this.root.querySelector("article") !== null;
    if (again) await all; // keep the current content until everything is loaded
    if (turn !== this.#turn) return;
    const said = found ? null : JSON.stringify(removal ?? problem.message), same = said !== null && said === this.#said;
    this.#said = said;
    if (same) return; // do not announce the same message twice
    const scroll = this.root.scrollTop, folds = new Map([...this.root.querySelectorAll("details")].map((one) => [one.dataset.part, one.open]));
    this.#entry = found?.body ?? null;
    this.#etag = found?.etag;
    await keepFocus(this.root, async () => {
      if (found) this.#draw(...parts);
      else if (removal) this.#forgotten(removal);
      else set(this.root, failed(problem, problem.status === 404 ? null : () => this.#load()));
      if (again) await all;
    });
    for (const one of this.root.querySelectorAll("details")) one.open = folds.get(one.dataset.part) ?? one.open;
    this.root.scrollTop = scroll;
  }

  /** Return the removal from the history; null if the entry was not removed or cannot be restored. */
  async #removal(id) {
    const last = page(await get(`${at(id)}/history`).catch(() => null)).items.at(-1);
    return last?.operation === "remove" ? last : null;
  }

  /** Show a forgotten entry: its content, and a button to restore it. */
  #forgotten({ entry_id: id, before, actor, at: when }) {
    const was = { ...before, id };
    const back = () => restore(was, () => { this.#trashed = false; return this.#load(); }, { undo: true });
    set(this.root, h("article", { class: "pane", "aria-label": title(was) },
      this.#head(was, [may("write") && button(t("form.bringBack"), back, { kind: "strong" })]),
      h("p", { class: "elsewhere" }, textParts("entry.forgotten", { when: time(when), actor })),
      h("div", { class: "content" }, markdown(was.content, { name: (name) => href(["memory", name]) }))));
  }

  #head(entry, actions) {
    return h("header", { class: "pane-head" }, button(t("common.back"), this.closed, { icon: "back", quiet: true, kind: "back" }),
      h("h1", { tabindex: -1 }, title(entry)), h("div", { class: "actions" }, actions));
  }

  #draw(linked, accesses, revisions, sources) {
    const entry = this.#entry, write = may("write");
    let broken = new Set(), tied = null;
    const text = () => markdown(entry.content, { name: (name) => (broken.has(name) ? null : href(["memory", name])) });
    const content = h("div", { class: "content" }, text());
    const asked = button(t("entry.why.ask"), () => { this.#explaining = !this.#explaining; this.explain(); }, { "aria-controls": "why", "aria-expanded": "false" });
    const links = h("div"), curve = h("div"), past = h("div"), made = h("div");
    set(this.root, h("article", { class: "pane", "aria-label": title(entry) },
      this.#head(entry, [asked, write && button(t("entry.edit"), () => this.edit(), { icon: "pencil", key: "e" }), write && this.#validity(entry), write && button(t("entry.forget"), () => forget(entry, () => this.gone(entry.id)), { icon: "trash" })]),
      write && hasDraft(entry.id) && h("p", { class: "elsewhere", role: "status" }, t("entry.draft"), " ", button(t("entry.goOn"), () => this.edit(), { kind: "small" })),
      this.#facts(entry), h("div", { class: "why", id: "why", hidden: true }), content, links,
      h("section", {}, h("h2", {}, t("entry.names")), this.#names(entry, write)),
      this.#origin(entry, made),
      h("section", {}, h("h2", {}, t("entry.presence")), curve),
      past));
    this.explain();
    const own = (node, made) => { if (this.#entry === entry) set(node, made); };
    const tie = (this.#tie = (found) => {
      const said = JSON.stringify(found), before = [...broken].join("\n");
      if (said === tied) return;
      tied = said;
      broken = new Set(found.broken);
      keepFocus(this.root, () => {
        if (before !== found.broken.join("\n")) own(content, text());
        own(links, this.#links(found));
      });
    });
    const missing = (node) => (error) => own(node, h("p", { class: "problem" }, error.message, " ", button(t("common.again"), () => this.#load(), { kind: "link" })));
    linked.then(tie).catch(missing(links));
    accesses.then((found) => own(curve, [decayCurve(found), this.#recalledBy(found)])).catch(missing(curve));
    sources.then((found) => own(made, trail(found))).catch(missing(made));
    revisions.then((found) => own(past, this.#history(page(found).items))).catch(missing(past));
  }

  /** List the queries that found the entry, newest first. Each links to its search, with this entry open. */
  #recalledBy({ recalls = [] }) {
    const asked = new Map(), { scope, conversation_id: conversation, channel_id: channel } = this.#entry;
    const within = scope === "conversation" ? { scope, conversation } : scope === "channel" ? { scope, channel } : {}; // other scopes do not find it
    for (const [when, query] of [...recalls].reverse()) if (query) asked.set(query, [...(asked.get(query) ?? []), when]);
    if (!asked.size) return h("p", { class: "hint" }, t("entry.notRecalled"));
    const seek = (query) => {
      this.#explaining = this.#sought = true;
      if (this.why(this.#entry.id)?.query === query) this.explain(); // the search is already loaded
    };
    return h("details", { class: "recalls", "data-part": "recalls" }, h("summary", {}, h("h3", {}, t("entry.recalledBy")), ` ${t("entry.questions", { count: asked.size })}`),
      h("p", { class: "hint" }, t("entry.recalledBy.hint")),
      h("ul", { class: "links" }, [...asked].slice(0, 50).map(([query, [last, ...more]]) => h("li", {}, h("a", { href: href(["memory", this.#id], { q: query, ...within }), onclick: () => seek(query) }, query.slice(0, 200)),
        h("span", { class: "hint" }, ", ", time(last), more.length > 0 && `, ${t("entry.times", { count: more.length + 1 })}`)))));
  }

  #facts(entry) {
    const fact = (name, value) => value !== null && value !== undefined && value !== "" && value !== false && h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return h("dl", { class: "facts" },
      fact(t("memory.category"), entry.category && h("span", { class: "badge" }, h("span", { class: `spot ${entry.category}` }), called(entry.category))),
      entry.kind !== "note" && fact(t("memory.kind"), t(`kind.${entry.kind}`)),
      fact(t("entry.tags"), entry.tags.length > 0 && entry.tags.map((tag) => [h("a", { class: "tag", href: href(["memory"], { tag }) }, `#${tag}`), " "])),
      stateOf(entry) !== "current" && fact(t("entry.state"), entry.superseded_by ? textParts("entry.supersededBy", { state: t(`state.${stateOf(entry)}`), link: h("a", { href: href(["memory", entry.superseded_by]) }, t("entry.thisEntry")) }) : t(`state.${stateOf(entry)}`)),
      entry.valid_from && fact(t("entry.holdsSince"), time(entry.valid_from)),
      entry.valid_until && fact(t(stateOf(entry) === "current" ? "entry.holdsUntil" : "entry.heldUntil"), time(entry.valid_until)),
      fact(t("entry.origin"), originWords(entry.origin, entry.kind)),
      fact(t("entry.written"), time(entry.created_at)),
      entry.updated_at !== entry.created_at && fact(t("entry.changed"), time(entry.updated_at)),
      fact(t("entry.importance"), [h("meter", { min: 0, max: 1, value: entry.importance, "aria-hidden": "true" }), ` ${number(entry.importance, 2)}`]),
      fact(t("memory.scope"), t(`scope.${entry.scope}`)), fact(t("entry.meantFor"), LIFETIMES.includes(entry.lifetime) ? t(`lifetime.${entry.lifetime}`) : entry.lifetime),
      fact(t("entry.recalled"), entry.access_count ? [t("entry.times", { count: entry.access_count }), entry.accessed_at && [", ", time(entry.accessed_at)]] : t("entry.never")));
  }

  /** Create the buttons that say that an entry no longer holds, or holds again. */
  #validity(entry) {
    if (entry.kind !== "note") return null;
    if (entry.closed_at) return button(t("entry.holdAgain"), () => restore(entry, () => this.#load()));
    const close = async (path, body, said) => {
      try {
        const { body: made } = await ask("POST", `${at(entry.id)}/${path}`, { body });
        toast(said, { undo: async () => { await ask("POST", `${at(entry.id)}/restore`, { body: {} }); toast(t("entry.holdsAgain")); go(href(["memory", entry.id])); } });
        this.past(entry.id);
        if (made.id === entry.id) this.#load();
        else go(href(["memory", made.id]));
      } catch (error) {
        toast(explained(error), { bad: true });
      }
    };
    const replace = async () => {
      const content = await dialog(t("entry.replaceIt"), (done) => {
        const text = h("textarea", { rows: 6, required: true, maxlength: 1_000_000, value: entry.content, autofocus: true });
        return h("form", { class: "stack", onsubmit: (event) => { event.preventDefault(); done(text.value); } },
          field(t("entry.fromNowOn"), text, t("entry.fromNowOn.hint")),
          h("div", { class: "row end" }, button(t("common.cancel"), () => done()), h("button", { class: "button strong" }, t("entry.replace"))));
      });
      if (content && content !== entry.content) await close("supersede", { content, origin: "user" }, t("entry.replaced"));
    };
    return [button(t("entry.replaceButton"), replace), button(t("entry.retract"), () => close("retract", {}, t("entry.retracted")))];
  }

  #names(entry, write) {
    const change = async (title, label, path, value, yes) => {
      const name = await askText(title, label, value, yes);
      if (!name || name === value) return;
      try {
        await ask("POST", `${at(entry.id)}/${path}`, { body: { name }, etag: this.#etag });
        toast(t(path === "rename" ? "entry.nowCalled" : "entry.leadsHere", { name }),
          path === "rename" && entry.name ? { undo: async () => {
            await ask("POST", `${at(entry.id)}/rename`, { body: { name: entry.name } });
            toast(t("entry.calledAgain", { name: entry.name, alias: name }));
          } } : {});
        this.#load();
      } catch (error) {
        toast(explained(error), { bad: true });
        if (error.status === 412) this.#load();
      }
    };
    return h("p", { class: "names" },
      entry.name ? [h("strong", {}, entry.name), entry.aliases.length > 0 && [`, ${t("entry.also")} `, entry.aliases.map((one, index) => [index > 0 && ", ", h("span", { class: "alias" }, one)])]] : h("span", { class: "hint" }, `${t("entry.noName")} `),
      write && h("span", { class: "row inline" },
        button(t(entry.name ? "entry.rename" : "entry.giveName"), () => change(t(entry.name ? "entry.renameIt" : "entry.nameIt"), t("entry.newName"), "rename", entry.name ?? "", t(entry.name ? "entry.rename" : "entry.nameIt")), { kind: "small" }),
        button(t("entry.addAlias"), () => change(t("entry.oneMoreName"), t("entry.alias"), "aliases", "", t("entry.add")), { kind: "small" })));
  }

  #origin(entry, made) {
    const turns = entry.conversation_id && h("a", { href: href(["conversations", entry.conversation_id, ...(entry.first_event ? [String(entry.first_event)] : [])]) },
      t(entry.first_event ? "entry.turns" : "entry.itsConversation"));
    return h("section", {}, h("h2", {}, t("entry.comesFrom")),
      h("p", {}, textParts("entry.storedBy", { origin: originWords(entry.origin, entry.kind), source: h("strong", {}, entry.source), when: moment(entry.created_at) }),
        entry.channel_id && textParts("entry.inChannel", { channel: h("strong", {}, entry.channel_id) }), turns && textParts("entry.see", { turns }), "."),
      entry.context && h("p", { class: "quote" }, entry.context), made);
  }

  #links({ out, back, broken }) {
    const list = (name, entries) => entries.length > 0 && h("div", {}, h("h3", {}, name), h("ul", { class: "links" },
      entries.map((one) => h("li", {}, h("a", { href: href(["memory", one.id]) }, label(one))))));
    if (!out.length && !back.length && !broken.length) return null;
    return h("section", { class: "linked" }, h("h2", {}, t("entry.links")), h("div", { class: "columns" }, list(t("entry.linksTo"), out), list(t("entry.linkedFrom"), back),
      broken.length > 0 && h("div", {}, h("h3", {}, t("entry.broken")), h("ul", { class: "links" }, broken.map((one) => h("li", { class: "broken" }, one))))));
  }

  #history(revisions) {
    return h("details", { class: "history", "data-part": "history", open: revisions.length > 1 }, h("summary", {}, h("h2", {}, t("entry.history")), ` ${t("entry.changes", { count: revisions.length })}`),
      h("ol", {}, [...revisions].reverse().map((one) => h("li", {},
        h("p", { class: "did" }, textParts("entry.didBy", { did: h("strong", {}, OPERATIONS.includes(one.operation) ? t(`entry.did.${one.operation}`) : one.operation), actor: one.actor, when: time(one.at) })),
        this.#differences(one)))));
  }

  #differences(one) {
    if (one.operation === "add" || one.operation === "remove") return null;
    const fields = [...new Set([...Object.keys(one.before), ...Object.keys(one.after)])]
      .filter((field) => !["updated_at", "content_hash", "id", "seq", "vault_id", "concept_tags"].includes(field));
    const changed = fields.filter((field) => JSON.stringify(one.before[field]) !== JSON.stringify(one.after[field]));
    return [
      changed.filter((field) => field !== "content").map((field) => h("p", { class: "changed" }, `${fieldName(field)}: `, shown(one.before[field]) && [h("del", {}, shown(one.before[field])), " "], shown(one.after[field]) && h("ins", {}, shown(one.after[field])))),
      changed.includes("content") && diffNodes(String(one.before.content ?? ""), String(one.after.content ?? "")),
      one.operation === "write" && may("write") && changed.some((field) => FIELDS.includes(field))
        && button(t("entry.bringBack", { fields: changed.includes("content") ? t("field.content") : listed(changed.filter((field) => FIELDS.includes(field)).map(fieldName)) }), () => this.#revert(one), { kind: "small" }),
    ];
  }

  /** Restore the fields that a change replaced. This is a regular change itself, so nothing is lost. */
  async #revert(one) {
    const entry = this.#entry, fields = FIELDS.filter((field) => field in one.before);
    try {
      const { etag } = await ask("PATCH", at(entry.id), { body: reversed(fields, one.before), etag: this.#etag });
      announceChange(t("form.asBeforeAt", { when: moment(one.at) }), entry.id, fields, entry, etag);
      this.#load();
    } catch (error) {
      toast(error.message, { bad: true });
    }
  }
}
