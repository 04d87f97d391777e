// Entry form for creating and editing, with conflict resolution; forgetting and restoring entries.

import { Problem, ask, entry as at, may, who } from "../api.js";
import { askText, button, dialog, field, h, select, set, toast } from "../dom.js";
import { href } from "../route.js";
import { capital, number, t, textParts } from "../texts.js";
import { diffNodes } from "../words.js";

export const CATEGORIES = ["decisions", "lessons", "tasks", "projects", "handoffs"];
export const called = (category) => (CATEGORIES.includes(category) ? t(`category.${category}`) : category);

/** Unsaved input by entry, with the version it is based on, so that leaving and returning loses nothing. */
const drafts = new Map();
addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); });
let writing = null; // the current form and the key of its draft

/** True if an entry has unsaved input. */
export const hasDraft = (id) => drafts.has(id);

/** Handle leaving the form in any way; show a message if it has unsaved input. */
export function leaving() {
  if (writing?.form.isConnected && drafts.has(writing.key)) toast(t("form.unsaved"));
  writing = null;
}

export const FIELDS = ["content", "tags", "context", "category", "importance"];
/** Return the name of a field, as it is shown: its own name if the language has no text for it. */
export const fieldName = (field) => {
  const key = `field.${field}`, text = t(key);
  return text === key ? field : text;
};
const same = (one, other) => JSON.stringify(one ?? "") === JSON.stringify(other ?? "");
/** Return a field's value as one line of text. */
export const shown = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

const tagsOf = (text) => [...new Set(text.split(",").map((one) => one.replace(/^#/, "").trim()).filter(Boolean))];

const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** Return an error message as nodes, with entry ids as links. */
export function explained(error) {
  const ids = [...error.message.matchAll(ID)];
  let end = 0;
  const parts = ids.map(({ 0: id, index }) => {
    const before = error.message.slice(end, index);
    end = index + id.length;
    return [before, h("a", { href: href(["memory", id]) }, id)];
  });
  return [parts, error.message.slice(end)];
}

/** Return the patch that restores the previous values; an empty string removes a category or context. */
export const reversed = (fields, was) => stated(Object.fromEntries(fields.map((field) => [field, was[field] ?? ""])));

/** Return a patch in which a new content is the user's: the user edits this page. */
const stated = (patch) => ("content" in patch ? { ...patch, origin: "user" } : patch);

/** Show a toast for a change of these fields, with an undo. */
export function announceChange(text, id, fields, was, etag) {
  toast(text, { undo: async () => {
    await ask("PATCH", at(id), { body: reversed(fields, was), etag });
    toast(t("form.asBefore"));
  } });
}

/** Create the form. `entry` is null for a new one. Calls `saved(entry, etag)` or `left()` at the end. */
export function entryForm({ entry, etag, saved, left }) {
  const key = entry?.id ?? `new ${who.workspace} ${who.agent}`;
  const draft = drafts.get(key), current = etag;
  const was = entry ?? { content: "", tags: [], importance: 0.5, category: null, context: null };
  const input = (name, props) => h("input", { ...props, name });
  const name = entry ? null : input("name", { type: "text", maxlength: 256, placeholder: t("form.name.example"), autocomplete: "off" });
  const content = h("textarea", { name: "content", required: true, rows: 10, maxlength: 1_000_000, value: was.content,
    placeholder: t("form.text.example") });
  const category = select([["", t("form.noCategory")], ...CATEGORIES.map((one) => [one, called(one)])],
    was.category ?? "", () => changed(), { name: "category" });
  const tags = input("tags", { type: "text", value: was.tags.join(", "), placeholder: t("form.tags.example"), autocomplete: "off" });
  const context = input("context", { type: "text", value: was.context ?? "", placeholder: t("form.context.example") });
  const importance = input("importance", { type: "range", min: 0, max: 1, step: 0.05, value: String(was.importance) });
  const chosen = h("output");
  const scope = entry ? null : select([["workspace", capital(t("scope.workspace"))], ["account", t("form.scope.account")]], "workspace", () => changed(), { name: "scope" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const kept = h("p", { class: "elsewhere", role: "status", hidden: true }, t("form.draft"), " ", button(t("form.discard"), discard, { kind: "small" }));
  const save = h("button", { class: "button strong", "aria-keyshortcuts": "Control+Enter" }, t(entry ? "form.save" : "form.remember"));
  const form = h("form", { class: "form stack", "aria-label": t(entry ? "form.edit" : "memory.newEntry"), onsubmit: submit, oninput: changed, onkeydown: keys },
    kept,
    name && field(t("form.name"), name, t("form.name.hint")),
    field(t("form.text"), content),
    h("div", { class: "columns" }, field(t("memory.category"), category), field(t("form.tags"), tags), scope && field(t("memory.scope"), scope),
      field(t("entry.importance"), h("span", { class: "row" }, importance, chosen))),
    field(t("form.context"), context), problem,
    h("div", { class: "row end" }, h("span", { class: "hint grow" }, t("form.keys")), button(t("common.cancel"), leave), save));
  const fields = [name, content, category, tags, context, importance, scope].filter(Boolean);
  const original = new Map(fields.map((one) => [one, one.value])); // as normalised by the browser: a slider rounds, a textarea changes line ends
  if (draft) {
    for (const one of fields) one.value = draft.typed[one.name] ?? one.value;
    etag = draft.etag; // so that a later change is not overwritten silently
    kept.hidden = false;
  }
  showImportance();

  function showImportance() {
    chosen.textContent = number(Number(importance.value), 2);
  }

  function changed() {
    showImportance();
    const typed = Object.fromEntries(fields.filter((one) => one.value !== original.get(one)).map((one) => [one.name, one.value]));
    if (Object.keys(typed).length) drafts.set(key, { typed, etag });
    else drafts.delete(key);
  }

  function discard() {
    for (const [one, value] of original) one.value = value;
    etag = current;
    changed();
    kept.hidden = true;
    content.focus();
  }

  function keys(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key === "Escape") { event.stopPropagation(); leave(); }
  }

  function leave() {
    leaving();
    left();
  }

  let saving = false; // a disabled button would lose the focus

  async function submit(event) {
    event.preventDefault();
    if (saving) return;
    saving = true;
    problem.hidden = true;
    try {
      await (entry ? write(etag).catch((error) => (error.status === 412 ? conflict() : Promise.reject(error))) : create());
    } catch (error) {
      if (entry && error.status === 404) gone();
      else complain(error);
    } finally {
      saving = false;
    }
  }

  /** Offer to restore an entry that was forgotten meanwhile. If it changed before, saving then shows both versions. */
  function gone() {
    set(problem, t("form.gone"), " ", button(t("form.bringBack"), () => restore(entry, () => {
      problem.hidden = true;
      save.focus();
    }), { kind: "small" }));
    problem.hidden = false;
  }

  function complain(error) {
    problem.toggleAttribute("data-away", error.status === 0); // hidden again when the server is back
    set(problem, explained(error));
    problem.hidden = false;
  }

  /** Return the values of the form; untouched fields keep their original value exactly. */
  function values() {
    const given = (one, value) => [one.name, one.value === original.get(one) ? was[one.name] : value];
    return Object.fromEntries([given(content, content.value), given(tags, tagsOf(tags.value)), given(importance, Number(importance.value)), given(category, category.value), given(context, context.value.trim())]);
  }

  async function create() {
    const given = Object.fromEntries(Object.entries(values()).filter(([, value]) => value !== null && value !== ""));
    const { body, etag: made } = await ask("POST", "/v1/entries", { body: { ...given, scope: scope.value, source: "user", ...(name.value.trim() && { name: name.value.trim() }) } });
    drafts.delete(key);
    toast(t("form.remembered"), { undo: () => undoCreate(body) });
    saved(body, made);
  }

  async function undoCreate(made) {
    await ask("DELETE", at(made.id));
    toast(t("form.takenBack"));
  }

  async function write(known, before = was) {
    const body = values();
    for (const [field, value] of Object.entries(body)) {
      if (JSON.stringify(was[field]) === JSON.stringify(value)) delete body[field];
    }
    if (!Object.keys(body).length) {
      drafts.delete(key);
      return left();
    }
    const { body: now, etag: made } = await ask("PATCH", at(entry.id), { body: stated(body), etag: known });
    drafts.delete(key);
    announceChange(t("form.saved"), entry.id, Object.keys(body), before, made);
    saved(now, made);
  }

  /** Show both versions, field by field. Fields that were not edited here keep the other side's value. */
  function both(theirs) {
    const mine = values(), touched = (field) => !same(mine[field], was[field]);
    const lines = FIELDS.filter((field) => field !== "content" && !same(mine[field], theirs[field])).map((field) => h("p", { class: "changed" }, touched(field)
      ? textParts("form.both.changed", { field: capital(fieldName(field)), theirs: h("del", {}, shown(theirs[field]) || t("common.none")), yours: h("ins", {}, shown(mine[field]) || t("common.none")) })
      : textParts("form.both.kept", { field: capital(fieldName(field)), theirs: h("strong", {}, shown(theirs[field]) || t("common.none")) })));
    const texts = same(mine.content, theirs.content) ? h("p", {}, t("form.both.same"))
      : !touched("content") ? [h("p", {}, t("form.both.textKept")), h("pre", { class: "text" }, theirs.content)]
      : [h("div", { class: "both" }, h("section", {}, h("h3", {}, t("form.both.yours")), h("pre", { class: "text" }, mine.content)),
        h("section", {}, h("h3", {}, t("form.both.theirs")), h("pre", { class: "text" }, theirs.content))),
      h("h3", {}, t("form.both.diff")), diffNodes(theirs.content, mine.content)];
    return [texts, lines];
  }

  /** Resolve a concurrent change: show both versions, and overwrite nothing without consent. */
  async function conflict() {
    const { body: theirs, etag: newest } = await ask("GET", at(entry.id));
    const choice = await dialog(t("form.conflict"), (close) => h("div", { class: "stack" },
      h("p", {}, t("form.conflict.text")), both(theirs),
      h("div", { class: "row end wrap" }, button(t("form.conflict.goOn"), () => close(), { kind: "strong", autofocus: true }), button(t("form.conflict.theirs"), () => close("theirs")),
        button(t("form.conflict.mine"), () => close("mine")))), { wide: true });
    if (choice === "theirs") {
      drafts.delete(key);
      saved(theirs, newest);
    } else if (choice === "mine") {
      etag = newest;
      await write(newest, theirs); // undo restores theirs
    } else complain(new Error(t("form.conflict.notSaved")));
  }

  writing = { form, key };
  queueMicrotask(() => (name ?? content).focus());
  return form;
}

const going = new Map(); // pending deletions by id: the button may have been redrawn meanwhile

/** Return the promise of an entry's pending deletion, if any. */
export const forgetting = (id) => going.get(id);

/** Forget an entry, with an undo. */
export async function forget(entry, done) {
  if (going.has(entry.id)) return;
  const removed = ask("DELETE", at(entry.id));
  going.set(entry.id, removed.catch(() => {}));
  try {
    await removed;
  } catch (error) {
    return void toast(error.message, { bad: true });
  } finally {
    going.delete(entry.id);
  }
  toast(entry.name ? t("form.forgot", { name: entry.name }) : t("form.forgotUnnamed"), { undo: () => restore(entry) });
  done?.();
}

/** Return whether an entry holds: current, superseded, retracted or expired. */
export function stateOf({ superseded_by: successor, closed_at: closed, valid_until: until }) {
  return successor ? "superseded" : closed ? "retracted" : until && until <= Date.now() ? "expired" : "current";
}

/** Restore an entry from the trash, under another name if its own is taken; `undo` offers to forget it again. */
export async function restore(entry, done, { undo = false } = {}) {
  let body = {};
  for (;;) {
    try {
      const { body: back } = await ask("POST", `${at(entry.id)}/restore`, { body });
      toast(t("form.back"), undo ? { undo: () => forget(back) } : {});
      done?.(back);
      return back;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 409 || body.name) return void toast(explained(error), { bad: true });
      const name = await askText(t("form.nameTaken"), t("form.bringBackAs"), t("form.restoredName", { name: entry.name }), t("form.bringBackNamed"));
      if (!name) return undefined;
      body = { name };
    }
  }
}

/** Create a hint if the token is read-only. */
export const readOnly = () => (may("write") ? null : h("p", { class: "hint" }, t("common.readOnly")));
