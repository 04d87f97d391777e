// Provenance of an entry: what it was made from, down to the turns, as a trail of links.

import { h } from "../dom.js";
import { originWords } from "../origin.js";
import { href } from "../route.js";
import { moment, t, textParts } from "../texts.js";

const SHOWN = 8; // sources listed before the rest is folded

/** Create the trail of an entry from its provenance. */
export function trail({ made_from: sources, left_out: left }) {
  if (!sources.length && !left) return h("p", { class: "hint" }, t("provenance.none"));
  return h("div", { class: "trail" }, h("h3", {}, t("provenance.title")), list(sources, left));
}

function list(sources, left) {
  const rest = sources.slice(SHOWN);
  return [
    h("ol", {}, sources.slice(0, SHOWN).map(source)),
    rest.length > 0 && h("details", { "data-part": `sources ${rest[0].ref}` }, h("summary", {}, t("provenance.more", { count: rest.length })), h("ol", {}, rest.map(source))),
    left > 0 && h("p", { class: "hint" }, t("provenance.left", { count: left })),
  ];
}

function source(one) {
  const [kind, ...rest] = one.ref.split(":");
  const describe = one.gone ? gone : { entry, event: turn, file, import: imported }[kind] ?? other;
  return h("li", {}, describe(one, rest.join(":")), (one.made_from.length > 0 || one.left_out > 0) && list(one.made_from, one.left_out));
}

function entry(one, id) {
  return [h("p", {}, h("a", { href: href(["memory", id], { in: one.in_trash && "trash" }) }, one.name ?? t("provenance.note")), one.in_trash && t("provenance.inTrash")), about(one), text(one)];
}

function turn(one) {
  const place = one.conversation && h("a", { href: href(["conversations", one.conversation, ...(one.seq ? [String(one.seq)] : [])]) }, t("provenance.conversation", { ref: one.conversation }));
  const who = h("strong", {}, one.who ?? t("provenance.turn"));
  return [h("p", {}, place ? textParts("provenance.said", { who, place }) : who), about(one), text(one)];
}

const file = (one, path) => h("p", {}, textParts("provenance.file", { path: h("code", {}, path) }));
const imported = (one, rest) => h("p", {}, textParts("provenance.import", { name: h("code", {}, rest) }));
const other = (one) => h("p", {}, textParts("provenance.evidence", { ref: h("code", {}, one.ref) }));
const gone = (one, rest) => h("p", { class: "hint" }, one.seq ? t("provenance.erased") : t("provenance.gone", { what: { entry: t("provenance.note"), event: t("provenance.turn") }[one.ref.split(":")[0]] ?? rest }));
const about = (one) => h("p", { class: "hint" }, one.origin && originWords(one.origin), one.at && t("provenance.on", { when: moment(one.at) }));
const text = (one) => one.text && h("p", { class: "quote" }, one.text);
