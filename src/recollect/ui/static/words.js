// Words: those of a query marked in a text, and what is different between two texts.

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const fold = (text) => text.normalize("NFD").replace(/\p{M}+/gu, "").toLowerCase();

/** Words that are everywhere, so that marking them shows nothing. Search leaves them out, too. */
const COMMON = new Set(`the and for are was were been has have had does did can will would should could not but you your our his her its their them
  they this that these those there then than from into with without what when where which who whom whose why how all any some
  para por com uma que não foi são ele ela seu sua`.split(/\s+/).map(fold));

/** The words of a query, folded as search folds them. Very short and very common ones only when there is nothing else. */
export function needles(query) {
  const words = [...new Set((fold(query).match(WORD) ?? []))];
  const telling = words.filter((word) => (word.length > 2 || !/^[a-z]+$/.test(word)) && !COMMON.has(word));
  return telling.length ? telling : words;
}

/** Whether a text has all the words that are looked for, also as parts of others. */
export function holds(text, wanted) {
  const folded = fold(text);
  return wanted.every((word) => folded.includes(word));
}

/** Whether a word is one of those looked for: it begins so, or shares a stem. */
function meant(word, wanted) {
  const folded = fold(word);
  return wanted.some((one) => {
    if (folded.startsWith(one) || (folded.length > 3 && one.startsWith(folded))) return true;
    const stem = Math.max(5, Math.ceil(one.length * 0.75));
    return one.length > stem && folded.length <= one.length + 4 && folded.slice(0, stem) === one.slice(0, stem);
  });
}

/** The text as nodes, with the words that were looked for in <mark>. */
export function marked(text, wanted) {
  if (!wanted.length) return [text];
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    if (!meant(found[0], wanted)) continue;
    nodes.push(text.slice(end, found.index), h("mark", {}, found[0]));
    end = found.index + found[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

/** Markdown without its marks, for where there is room for a line only. Spaces come first and links have a longest length, so that no text takes long. */
const plain = (text) => text.replace(/[^\S\n]+/g, " ").replace(/^ {0,3}(?:#{1,6} +|> ?|[-*+] +(?:\[[ xX]\] )?|\|?[ :|-]+\|$)/gm, "").replace(/\*\*|__|`+|~~/g, "")
  .replace(/\[\[([^[\]|\n]{0,300}\|)?([^[\]\n]{0,300})\]\]/g, "$2").replace(/!?\[([^[\]\n]{0,300})\]\([^)\n]{0,500}\)/g, "$1").replace(/ *\| */g, " · ");

const LETTERS = new Intl.Segmenter();

/** The last place, at most `at`, that is not inside an emoji or a letter with its accents. */
const between = (text, at) => LETTERS.segment(text).containing(at)?.index ?? text.length;

/** The part of a text around the first word that was looked for, on one line. */
export function excerpt(text, wanted, width = 240) {
  const flat = plain(text.slice(0, 20_000)).replace(/\s+/g, " ").trim();
  let at = 0;
  for (const found of wanted.length ? flat.matchAll(WORD) : []) {
    if (meant(found[0], wanted)) { at = found.index; break; }
  }
  const start = at > width / 2 ? Math.max(0, flat.lastIndexOf(" ", at - 40)) : 0;
  return (start ? "… " : "") + flat.slice(start, between(flat, start + width)).trim();
}

// Differences

const LONGEST = 6_000;

/** The differences between two texts: [kind, text] with kind "same", "gone" or "new". By words; by lines when long. */
export function difference(before, after) {
  let a = before.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
  let b = after.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
  if (a.length + b.length > LONGEST) [a, b] = [before.split(/(?<=\n)/), after.split(/(?<=\n)/)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const parts = [
    ...a.slice(0, start).map((text) => ["same", text]),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((text) => ["same", text]),
  ];
  return joined(parts);
}

/** Myers' shortest edit script; two texts that have too little in common are simply replaced. */
function middle(a, b) {
  const whole = [...a.map((text) => ["gone", text]), ...b.map((text) => ["new", text])];
  if (!a.length || !b.length || a.length + b.length > LONGEST) return whole;
  const most = Math.min(a.length + b.length, 1_500), off = most + 1;
  const reach = new Int32Array(2 * most + 3), trail = [];
  for (let d = 0; d <= most; d++) {
    trail.push(reach.slice(off - d - 1, off + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[off + k - 1] < reach[off + k + 1]);
      let x = down ? reach[off + k + 1] : reach[off + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[off + k] = x;
      if (x >= a.length && x - k >= b.length) return walked(a, b, trail, d);
    }
  }
  return whole;
}

function walked(a, b, trail, depth) {
  const parts = [];
  let x = a.length, y = b.length;
  for (let d = depth; d > 0; d--) {
    const row = trail[d], at = (k) => row[k + d + 1], k = x - y;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const from = down ? k + 1 : k - 1, fromX = at(from), fromY = fromX - from;
    while (x > (down ? fromX : fromX + 1) && y > (down ? fromY + 1 : fromY)) parts.push(["same", a[--x]]), y--;
    if (down) parts.push(["new", b[--y]]);
    else parts.push(["gone", a[--x]]);
  }
  while (x > 0) parts.push(["same", a[--x]]);
  return parts.reverse();
}

/** Neighbours of one kind as one, and a lone space between changes counted to them: phrases read better than confetti. */
function joined(parts) {
  const runs = [];
  for (const [index, [kind, text]] of parts.entries()) {
    const lone = kind === "same" && /^\s+$/.test(text) && !text.includes("\n")
      && (parts[index - 1]?.[0] ?? "same") !== "same" && (parts[index + 1]?.[0] ?? "same") !== "same";
    if (lone) runs.push(["gone", text], ["new", text]);
    else runs.push([kind, text]);
  }
  const made = [];
  let gone = "", fresh = "";
  const flush = () => {
    if (gone) made.push(["gone", gone]);
    if (fresh) made.push(["new", fresh]);
    gone = fresh = "";
  };
  for (const [kind, text] of runs) {
    if (kind === "gone") gone += text;
    else if (kind === "new") fresh += text;
    else {
      flush();
      if (made.at(-1)?.[0] === "same") made.at(-1)[1] += text;
      else made.push(["same", text]);
    }
  }
  flush();
  return made;
}

/** The difference of two texts as nodes; long stretches that stayed the same are cut short. */
export function diffNodes(before, after) {
  const parts = difference(before, after);
  return h("div", { class: "diff" }, parts.map(([kind, text], index) => {
    if (kind === "gone") return h("del", {}, text);
    if (kind === "new") return h("ins", {}, text);
    if (text.length < 240) return text;
    const head = index === 0 ? "" : text.slice(0, between(text, 90)), tail = index === parts.length - 1 ? "" : text.slice(between(text, text.length - 90));
    return [head, h("span", { class: "cut" }, " … "), tail];
  }));
}
