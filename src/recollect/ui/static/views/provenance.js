// Provenance of an entry: what it was made from, down to the turns, as a trail of links.

import { h, many, moment } from "../dom.js";
import { originWords } from "../origin.js";
import { href } from "../route.js";

const SHOWN = 8; // sources listed before the rest is folded

/** Create the trail of an entry from its provenance. */
export function trail({ made_from: sources, left_out: left }) {
  if (!sources.length && !left) return h("p", { class: "hint" }, "No source is recorded: it was written as it stands.");
  return h("div", { class: "trail" }, h("h3", {}, "Made from"), list(sources, left));
}

function list(sources, left) {
  const rest = sources.slice(SHOWN);
  return [
    h("ol", {}, sources.slice(0, SHOWN).map(source)),
    rest.length > 0 && h("details", { "data-part": `sources ${rest[0].ref}` }, h("summary", {}, many(rest.length, "more source", "more sources")), h("ol", {}, rest.map(source))),
    left > 0 && h("p", { class: "hint" }, `${many(left, "more source is", "more sources are")} not listed.`),
  ];
}

function source(one) {
  const [kind, ...rest] = one.ref.split(":");
  const describe = one.gone ? gone : { entry, event: turn, file, import: imported }[kind] ?? other;
  return h("li", {}, describe(one, rest.join(":")), (one.made_from.length > 0 || one.left_out > 0) && list(one.made_from, one.left_out));
}

function entry(one, id) {
  return [h("p", {}, h("a", { href: href(["memory", id], { in: one.in_trash && "trash" }) }, one.name ?? "A note"), one.in_trash && ", in the trash"), about(one), text(one)];
}

function turn(one) {
  const place = one.conversation && h("a", { href: href(["conversations", one.conversation, ...(one.seq ? [String(one.seq)] : [])]) }, `conversation ${one.conversation}`);
  return [h("p", {}, h("strong", {}, one.who ?? "A turn"), place && [" in ", place]), about(one), text(one)];
}

const file = (one, path) => h("p", {}, "The file ", h("code", {}, path), " of the vault");
const imported = (one, rest) => h("p", {}, "An import: ", h("code", {}, rest));
const other = (one) => h("p", {}, "Evidence given as ", h("code", {}, one.ref));
const gone = (one, rest) => h("p", { class: "hint" }, one.seq ? "A turn that was erased" : `${{ entry: "A note", event: "A turn" }[one.ref.split(":")[0]] ?? rest} that no longer exists, or that this agent may not read`);
const about = (one) => h("p", { class: "hint" }, one.origin && originWords(one.origin), one.at && ` on ${moment(one.at)}`);
const text = (one) => one.text && h("p", { class: "quote" }, one.text);
