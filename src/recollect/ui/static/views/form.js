// Writing an entry: the form for a new one and for a change, and what to do when somebody else was faster.

import { Problem, ask, entry as at, may } from "../api.js";
import { askText, button, dialog, field, h, select, toast } from "../dom.js";
import { diffNodes } from "../words.js";

export const CATEGORIES = ["decisions", "lessons", "tasks", "projects", "handoffs"];
const SINGULAR = { decisions: "Decision", lessons: "Lesson", tasks: "Task", projects: "Project", handoffs: "Handoff" };
export const called = (category) => SINGULAR[category] ?? category;

/** What was typed and not saved, by entry: going away and coming back loses nothing. */
const drafts = new Map();
addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); });

const tagsOf = (text) => [...new Set(text.split(",").map((one) => one.replace(/^#/, "").trim()).filter(Boolean))];

/** The form. `entry` is null for a new one. `saved(entry, etag)` and `left()` are told how it ended. */
export function entryForm({ entry, etag, saved, left }) {
  const key = entry?.id ?? "new";
  const draft = drafts.get(key);
  const was = entry ?? { content: "", tags: [], importance: 0.5, category: null, context: null };
  const input = (name, props) => h("input", { ...props, name, value: draft?.[name] ?? props.value ?? "" });
  const name = entry ? null : input("name", { type: "text", maxlength: 256, placeholder: "deploy day", autocomplete: "off" });
  const content = h("textarea", { name: "content", required: true, rows: 10, maxlength: 1_000_000, value: draft?.content ?? was.content,
    placeholder: "What is worth keeping? Markdown works, and [[names]] link to other entries." });
  const category = select([...(was.category ? [] : [["", "None"]]), ...CATEGORIES.map((one) => [one, called(one)])],
    draft?.category ?? was.category ?? "", () => changed(), { name: "category" });
  const tags = input("tags", { type: "text", value: was.tags.join(", "), placeholder: "ops, release", autocomplete: "off" });
  const context = input("context", { type: "text", value: was.context ?? "", placeholder: "Where it comes from, or why it matters" });
  const importance = input("importance", { type: "range", min: 0, max: 1, step: 0.05, value: String(was.importance) });
  const shown = h("output", {}, Number(importance.value).toFixed(2));
  const scope = entry ? null : select([["workspace", "Workspace"], ["account", "Account (all workspaces)"]], draft?.scope ?? "workspace", () => changed(), { name: "scope" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const save = h("button", { class: "button strong", "aria-keyshortcuts": "Control+Enter" }, entry ? "Save" : "Remember");
  const form = h("form", { class: "form stack", "aria-label": entry ? "Edit the entry" : "New entry", onsubmit: submit, oninput: changed, onkeydown: keys },
    name && field("Name", name, "Optional. By it the entry can be addressed and linked."),
    field("Text", content),
    h("div", { class: "columns" }, field("Category", category), field("Tags", tags), scope && field("Scope", scope),
      field("Importance", h("span", { class: "row" }, importance, shown))),
    field("Context", context), problem,
    h("div", { class: "row end" }, h("span", { class: "hint grow" }, "Ctrl+Enter saves, Esc leaves."), button("Cancel", leave), save));
  const fields = [name, content, category, tags, context, importance, scope].filter(Boolean);

  function changed() {
    shown.textContent = Number(importance.value).toFixed(2);
    drafts.set(key, Object.fromEntries(fields.map((one) => [one.name, one.value])));
  }

  function keys(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key === "Escape") { event.stopPropagation(); leave(); }
  }

  function leave() {
    drafts.delete(key);
    left();
  }

  async function submit(event) {
    event.preventDefault();
    problem.hidden = true;
    save.disabled = true;
    try {
      await (entry ? write(etag) : create());
    } catch (error) {
      if (error instanceof Problem && error.status === 412) await conflict();
      else complain(error);
    } finally {
      save.disabled = false;
    }
  }

  function complain(error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }

  function values() {
    return { content: content.value, tags: tagsOf(tags.value), importance: Number(importance.value),
      ...(category.value && { category: category.value }), ...(context.value.trim() && { context: context.value.trim() }) };
  }

  async function create() {
    const { body, etag: made } = await ask("POST", "/v1/entries", { body: { ...values(), scope: scope.value, source: "user", ...(name.value.trim() && { name: name.value.trim() }) } });
    drafts.delete(key);
    toast("Remembered.", { undo: () => forgetAgain(body) });
    saved(body, made);
  }

  async function forgetAgain(made) {
    await ask("DELETE", at(made.id));
    toast("Taken back.");
  }

  async function write(known) {
    const body = values();
    for (const [field, value] of Object.entries(body)) {
      if (JSON.stringify(was[field]) === JSON.stringify(value)) delete body[field];
    }
    if (!Object.keys(body).length) return leave();
    const { body: now, etag: made } = await ask("PATCH", at(entry.id), { body, etag: known });
    drafts.delete(key);
    const back = Object.fromEntries(Object.keys(body).map((field) => [field, was[field]]).filter(([, value]) => value !== null));
    toast("Saved.", { undo: async () => {
      await ask("PATCH", at(entry.id), { body: back, etag: made });
      toast("As it was before.");
    } });
    saved(now, made);
  }

  /** Somebody else wrote it in the meantime: both texts are shown, and nothing is overwritten unasked. */
  async function conflict() {
    const { body: theirs, etag: newest } = await ask("GET", at(entry.id));
    const choice = await dialog("It was changed in the meantime", (close) => h("div", { class: "stack" },
      h("p", {}, "Somebody else, perhaps an agent, changed this entry while you were writing. Nothing is overwritten yet."),
      h("div", { class: "both" },
        h("section", {}, h("h3", {}, "Yours"), h("pre", { class: "text" }, content.value)),
        h("section", {}, h("h3", {}, "Theirs"), h("pre", { class: "text" }, theirs.content))),
      h("h3", {}, "From theirs to yours"), diffNodes(theirs.content, content.value),
      h("div", { class: "row end wrap" }, button("Go on editing", () => close()), button("Take theirs", () => close("theirs")),
        button("Keep mine", () => close("mine"), { kind: "strong", autofocus: true }))), { wide: true });
    if (choice === "theirs") {
      drafts.delete(key);
      saved(theirs, newest);
    } else if (choice === "mine") {
      etag = newest;
      await write(newest).catch(complain);
    } else complain(new Error("Not saved: the entry was changed in the meantime. Saving again shows both texts."));
  }

  queueMicrotask(() => (name ?? content).focus());
  return form;
}

/** Forget an entry, with a way back. */
export async function forget(entry, done) {
  try {
    await ask("DELETE", at(entry.id));
  } catch (error) {
    return toast(error.message, { bad: true });
  }
  toast(`Forgot ${entry.name ? `“${entry.name}”` : "the entry"}.`, { undo: () => restore(entry) });
  done?.();
}

/** Bring an entry back from the trash; under another name when its own was taken. */
export async function restore(entry, done) {
  let body = {};
  for (;;) {
    try {
      const { body: back } = await ask("POST", `${at(entry.id)}/restore`, { body });
      toast("It is back.");
      done?.(back);
      return back;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 409 || body.name) return void toast(error.message, { bad: true });
      const name = await askText("Its name was taken meanwhile", "Bring it back as", `${entry.name} (restored)`, "Bring back");
      if (!name) return undefined;
      body = { name };
    }
  }
}

/** A row that says what one may not do, where the token only reads. */
export const readOnly = () => (may("write") ? null : h("p", { class: "hint" }, "This token may read and not change anything."));
