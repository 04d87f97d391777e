// DOM helpers. Everything is built as nodes and text is inserted as text: nothing here parses HTML.

import { ago, moment, t } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

/** Create an element: `h("p", {class: "x", onclick: f}, "text", [more])`. Empty children are omitted. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Create an SVG element. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

/** Append children: nodes, text, or lists of them; null, undefined and false are skipped. */
export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

/** Replace all children. */
export function set(node, ...children) {
  node.replaceChildren();
  return add(node, ...children);
}

const ICONS = {
  overview: "M4 4h7v7H4zM14 4h6v4h-6zM14 11h6v9h-6zM4 14h7v6H4z",
  memory: "M4 6h16M4 12h16M4 18h10",
  conversations: "M4 5h16v11H9l-5 4z",
  timeline: "M3 12h18M6 9v6M12 7v10M18 9v6",
  graph: "M6 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM18 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM10 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 6.5l8 1M7 8l2.5 8M16.5 9.5L11.5 16.5",
  review: "M4 5h7v14H4zM13 5h7v14h-7M6 9h3M15 9h3M6 13h3M15 13h3",
  context: "M7 4h10v16H7zM10 8h4M10 12h4M10 16h2",
  reminders: "M6 17V11a6 6 0 0 1 12 0v6l1.5 1.5h-15zM10 21h4M12 5V3",
  upkeep: "M4 19V9M10 19V5M16 19v-7M22 19H2",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM20 20l-4.8-4.8",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  back: "M14 6l-6 6 6 6",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
  filter: "M4 6h16M7 12h10M10 18h4",
  help: "M9 9a3 3 0 1 1 4.2 2.8c-.8.3-1.2 1-1.2 1.9M12 17.5v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  pencil: "M4 20l1-4L16 5l3 3L8 19z",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
};

/** Create an icon, hidden from screen readers: the adjacent text or the button's label describes it. */
export function icon(name) {
  return s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}

/** Run a user action; show a toast if it throws or rejects. */
async function attempt(run) {
  try {
    await run();
  } catch (error) {
    if (error.name !== "AbortError") toast(error.message, { bad: true });
  }
}

/** Create a button. It shows `label`; with an icon and `quiet` the label is only an accessible name and tooltip. Clicks while its action runs are ignored. */
export function button(label, run, { icon: drawn, kind = "", quiet = false, key, ...props } = {}) {
  let busy = false;
  const press = async (event) => {
    if (busy) return;
    busy = true;
    await attempt(() => run(event));
    busy = false;
  };
  return h(
    "button",
    { type: "button", class: `button ${kind}${quiet ? " quiet" : ""}`, onclick: press, "aria-label": quiet ? label : null,
      title: quiet ? label : null, "aria-keyshortcuts": key ?? null, ...props },
    drawn && icon(drawn), !quiet && label,
  );
}

/** Create a labelled form field. */
export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", { class: "label" }, label), control, hint && h("span", { class: "hint" }, hint));
}

/** Create a select from [value, text] pairs. */
export function select(pairs, value, onchange, props = {}) {
  const made = h("select", { ...props, onchange: (event) => onchange(event.target.value) },
    pairs.map(([key, text]) => h("option", { value: key }, text)));
  made.value = value ?? "";
  return made;
}

// Times and numbers

/** Create a <time> element with relative text that `tick` updates, and the full timestamp on hover. */
export function time(at, says = ago) {
  if (at === null || at === undefined) return null;
  const made = h("time", { datetime: new Date(at).toISOString(), title: moment(at) }, says(at));
  made.says = says;
  return made;
}

/** Update the relative text of all <time> elements. */
export function tick() {
  for (const node of document.querySelectorAll("time")) {
    const now = node.says?.(Date.parse(node.dateTime));
    if (now && now !== node.textContent) node.textContent = now;
  }
}

// Toasts, dialogs and progress

const undos = [];

/** Show a message at the edge of the page; with `undo`, with an undo button and the shortcut `u`; with `stays`, until it is closed. */
export function toast(text, { undo, bad = false, stays = false } = {}) {
  const place = document.getElementById("toasts");
  const took = { run: null, leave: () => leave() };
  let from = null; // the element that had the focus before the toast
  const leave = () => {
    clearTimeout(took.timer);
    const held = made.contains(document.activeElement);
    made.remove();
    if (held) (from?.isConnected ? from : document.getElementById("main")).focus({ preventScroll: true });
    const at = undos.indexOf(took);
    if (at >= 0) undos.splice(at, 1);
  };
  const wait = () => { if (!stays) took.timer = setTimeout(leave, undo ? 12_000 : 5_000); };
  const made = h("div", { class: bad ? "toast bad" : "toast", role: bad ? "alert" : null,
    onmouseenter: () => clearTimeout(took.timer), onmouseleave: wait,
    onfocusin: (event) => { clearTimeout(took.timer); if (!made.contains(event.relatedTarget)) from = event.relatedTarget; }, onfocusout: wait }, h("span", {}, text));
  if (undo) {
    took.run = () => { leave(); return attempt(undo); };
    undos.push(took);
    made.append(button(t("common.undo"), took.run, { kind: "link", key: "u" }));
  }
  made.append(button(t("common.close"), leave, { icon: "close", quiet: true }));
  if (!undo) [...place.children].find((one) => one.textContent === made.textContent)?.remove(); // replace an equal message
  while (place.childElementCount > 2) place.firstElementChild.remove();
  place.append(made);
  wait();
}

/** Run the undo of the newest message; false if there is none. */
export function undo() {
  const last = undos.at(-1);
  last?.run();
  return last !== undefined;
}

/** Drop all undos: they belong to a memory that is no longer shown. */
export function dropUndos() {
  for (const one of [...undos]) one.leave();
}

/** Show a modal dialog; `build(close)` returns its content. Resolves to the argument of `close`, or undefined if dismissed. */
export function dialog(title, build, { wide = false } = {}) {
  return keepFocus(document.body, () => new Promise((resolve) => {
    const box = h("dialog", { class: wide ? "dialog wide" : "dialog", "aria-label": title });
    let result;
    const close = (value) => { result = value; box.close(); };
    add(box, h("div", { class: "dialog-head" }, h("h2", {}, title),
      button(t("common.close"), () => close(), { icon: "close", quiet: true })), build(close));
    box.addEventListener("close", () => { box.remove(); resolve(result); });
    box.addEventListener("click", (event) => { if (event.target === box) close(); });
    document.body.append(box);
    box.showModal();
    const first = box.querySelector("[autofocus]");
    first?.focus();
    first?.select?.(); // select the text of a field, ready to be replaced
  }));
}

/** Ask for confirmation; resolves to true if confirmed. */
export function ask(title, text, yes, kind = "strong") {
  return dialog(title, (close) => h("div", { class: "stack" }, [text].flat().map((one) => h("p", {}, one)),
    h("div", { class: "row end" }, button(t("common.cancel"), () => close(false)), button(yes, () => close(true), { kind, autofocus: true }))));
}

/** Ask for one line of text. */
export function askText(title, label, value, yes) {
  return dialog(title, (close) => {
    const input = h("input", { type: "text", value: value ?? "", required: true, maxlength: 256, autofocus: true });
    return h("form", { class: "stack", onsubmit: (event) => { event.preventDefault(); close(input.value.trim()); } },
      field(label, input), h("div", { class: "row end" }, button(t("common.cancel"), () => close()),
        h("button", { class: "button strong" }, yes)));
  });
}

/** Run `draw`, which redraws `root` and may be async, and restore the focus: to the same control, else one with its name, else the heading. */
export function keepFocus(root, draw) {
  const had = document.activeElement;
  if (!had || had === document.body || !root.contains(had)) return draw();
  const name = (node) => `${node.tagName} ${node.dataset.name ?? node.getAttribute("aria-label") ?? (node.name || node.textContent.trim())}`;
  const alike = (wanted) => [...root.querySelectorAll(had.tagName)].filter((node) => name(node) === wanted);
  const called = name(had), place = alike(called).indexOf(had);
  const back = () => {
    if (document.activeElement !== document.body && document.activeElement !== null) return; // the focus was not lost, or has moved
    const again = had.isConnected ? [had] : alike(called);
    const to = again[Math.min(place, again.length - 1)] ?? again[0] ?? root.querySelector("h1, h2");
    if (/^H\d$/.test(to?.tagName)) to.tabIndex = -1;
    to?.focus({ preventScroll: true });
  };
  const drawn = draw();
  if (typeof drawn?.then === "function") return drawn.finally(back);
  back();
  return drawn;
}

/** Create a placeholder for content that is loading. */
export const waiting = (text = t("common.loading")) => h("p", { class: "empty waiting", role: "status" }, text);

/** Show a loading text in `place` after a delay. Returns a function that cancels it. */
export function slowly(place) {
  const timer = setTimeout(() => set(place, t("common.loading")), 300);
  return () => clearTimeout(timer);
}

/** Create an error message, with a retry button if `again` is given. */
export function failed(error, again) {
  return h("div", { class: "empty", role: "alert" }, h("p", {}, error.message), again && button(t("common.again"), again));
}

/** Copy text to the clipboard and show a toast. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("common.copied"));
  } catch {
    toast(t("common.noCopy"), { bad: true });
  }
}
