// Import by dropping or choosing a file, with a dry run first; export and backup as downloads.

import { address, may, upload, who } from "../api.js";
import { button, dialog, h, icon, set, toast } from "../dom.js";
import { href } from "../route.js";
import { number, t } from "../texts.js";

const NAME = /^[^./\\\p{Cc}][^/\\\p{Cc}]*$/u; // the file names that the server accepts
const LONGEST = 200; // bytes of a file name

/** True if the token may import and export: these concern all workspaces. */
export const mayTransfer = () => may("admin") && who.everywhere;

/** Create the button that chooses a file to import, with the input that it opens. */
export function importButton(text, options) {
  const chosen = h("input", { type: "file", hidden: true, "aria-label": text, onchange: () => { const [file] = chosen.files; chosen.value = ""; if (file) importFile(file); } });
  return [chosen, button(text, () => chosen.click(), options)];
}

/** Create the section with the buttons. */
export function transferCard() {
  const download = (path, text) => h("a", { class: "button", href: address(path), download: "" }, text);
  return h("section", { class: "card", "aria-label": t("transfer.title") }, h("h2", {}, t("transfer.title")), h("p", { class: "hint" }, t("transfer.hint")),
    h("p", { class: "row wrap" }, importButton(t("transfer.choose"), { icon: "plus", kind: "strong" }), download("/v1/export", t("transfer.export")), download("/v1/backup", t("transfer.backup"))));
}

/** Take files that are dropped anywhere on the page. */
export function watchDrops() {
  const cover = h("div", { class: "drop", "aria-hidden": "true", hidden: true }, icon("plus"), h("p", {}, t("transfer.drop")));
  document.body.append(cover);
  const files = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!files(event)) return;
    event.preventDefault(); // otherwise the browser would open the file instead of the page
    cover.hidden = !mayTransfer() || document.querySelector("dialog[open]") !== null || document.body.classList.contains("outside");
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) cover.hidden = true; });
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    const offered = !cover.hidden, { items, files: dropped } = event.dataTransfer;
    cover.hidden = true;
    if (!offered) return;
    if ([...items].some((one) => one.webkitGetAsEntry?.()?.isDirectory)) return void toast(t("transfer.folder"), { bad: true });
    if (dropped.length !== 1) return void toast(t("transfer.one"), { bad: true });
    importFile(dropped[0]);
  });
}

/** Show what an import of a file would do, and do it if the user says so. The dialog stays open until it is done. */
function importFile(file) {
  const sending = new AbortController(), named = NAME.test(file.name) && new TextEncoder().encode(file.name).length <= LONGEST ? file.name : null;
  const place = h("div", { class: "stack", "aria-live": "polite" }), to = { agent: who.agent, workspace: who.workspace }; // the user may look at another memory meanwhile
  const send = (dry) => {
    const bar = h("progress", { max: 1, value: 0, "aria-label": t("transfer.sending") }), says = h("p", { class: "hint" }, t("transfer.sending"));
    set(place, says, bar);
    return upload("/v1/import", { file, query: { ...to, name: named, dry_run: dry || null }, signal: sending.signal, reads: dry, progress: (done) => {
      bar.value = done;
      if (done < 1) return;
      bar.removeAttribute("value"); // the server works, and does not say how long
      says.textContent = t(dry ? "transfer.reading" : "transfer.writing");
    } });
  };
  const attempt = async (run) => {
    try {
      await run();
    } catch (error) {
      if (error.name !== "AbortError") set(place, h("p", { class: "problem", role: "alert" }, error.message), h("p", { class: "hint" }, t("transfer.unchanged")));
    }
  };
  const write = (close) => attempt(async () => {
    const done = await send(false);
    set(place, h("p", { class: "good" }, t("transfer.done")), report(done), h("div", { class: "row end" }, h("a", { class: "button strong", href: href(["overview"]), onclick: () => close() }, t("transfer.look"))));
    place.querySelector("a").focus();
  });
  return dialog(t("transfer.of", { name: file.name }), (close) => {
    attempt(async () => {
      const found = await send(true), changes = found.parts.some((part) => [part.added, part.changed].some((counts) => Object.values(counts).some(Boolean)));
      set(place, h("p", {}, t(changes ? "transfer.would" : "transfer.nothing")), report(found),
        h("div", { class: "row end" }, button(t(changes ? "common.cancel" : "common.close"), () => close()), changes && button(t("transfer.import"), () => write(close), { kind: "strong" })));
      place.querySelector(".strong")?.focus();
    });
    return place;
  }, { wide: true }).finally(() => sending.abort());
}

/** Create the report of an import: what was added, changed and known already, and what was left out and why. */
function report(found) {
  const row = (part, label, counts) => Object.entries(counts).filter(([, count]) => count).map(([what, count]) => h("tr", {}, h("th", { scope: "row" }, part.where), h("td", {}, label), h("td", {}, `${number(count)} ${what}`)));
  const rows = found.parts.flatMap((part) => [...row(part, t("transfer.added"), part.added), ...row(part, t("transfer.changed"), part.changed), ...row(part, t("transfer.known"), part.known)]);
  const list = (title, items) => items.length > 0 && h("details", { open: items.length < 6 }, h("summary", {}, t(title, { count: items.length })), h("ul", { class: "items" }, items.slice(0, 200).map((one) => h("li", {}, one))));
  return [h("p", { class: "hint" }, t("transfer.format", { format: found.format })),
    rows.length > 0 && h("div", { class: "scrolls", tabindex: 0 }, h("table", { class: "report" }, h("tbody", {}, rows))),
    list("transfer.remarks", found.remarks), list("transfer.skipped", found.skipped)];
}
