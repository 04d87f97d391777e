// Text utilities: query highlighting, excerpts, and diffs.

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const fold = (text) => text.normalize("NFD").replace(/\p{M}+/gu, "").toLowerCase();

/** Stop words: not highlighted, as search ignores them too. */
const COMMON = new Set(`the and for are was were been has have had does did can will would should could not but you your our his her its their them
  they this that these those there then than from into with without what when where which who whom whose why how all any some
  para por com uma que não foi são ele ela seu sua`.split(/\s+/).map(fold));

/** Return the words of a query, folded as search folds them. Short words and stop words only if there are no others. */
export function needles(query) {
  const words = [...new Set((fold(query).match(WORD) ?? []))];
  const telling = words.filter((word) => (word.length > 2 || !/^[a-z]+$/.test(word)) && !COMMON.has(word));
  return telling.length ? telling : words;
}

/** True if a text contains all query words, also as substrings. */
export function holds(text, wanted) {
  const folded = fold(text);
  return wanted.every((word) => folded.includes(word));
}

/** True if a word matches a query word: by prefix, or by stem. */
function meant(word, wanted) {
  const folded = fold(word);
  return wanted.some((one) => {
    if (folded.startsWith(one) || (folded.length > 3 && one.startsWith(folded))) return true;
    const stem = Math.max(5, Math.ceil(one.length * 0.75));
    return one.length > stem && folded.length <= one.length + 4 && folded.slice(0, stem) === one.slice(0, stem);
  });
}

/** Return the text as nodes, with the query words in <mark>. */
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

/** Strip Markdown markup, for single-line display. Spaces are collapsed first and link length is bounded, so no regex backtracks for long. */
const plain = (text) => text.replace(/[^\S\n]+/g, " ").replace(/^ {0,3}(?:#{1,6} +|> ?|[-*+] +(?:\[[ xX]\] )?|\|?[ :|-]+\|$)/gm, "").replace(/\*\*|__|`+|~~/g, "")
  .replace(/\[\[([^[\]|\n]{0,300}\|)?([^[\]\n]{0,300})\]\]/g, "$2").replace(/!?\[([^[\]\n]{0,300})\]\([^)\n]{0,500}\)/g, "$1").replace(/ *\| */g, " · ");

const LETTERS = new Intl.Segmenter();

/** Return the last index, at most `at`, that does not split a grapheme cluster. */
const between = (text, at) => LETTERS.segment(text).containing(at)?.index ?? text.length;

/** Return the part of a text around the first query word, on one line. */
export function excerpt(text, wanted, width = 240) {
  const flat = plain(text.slice(0, 20_000)).replace(/\s+/g, " ").trim();
  let at = 0;
  for (const found of wanted.length ? flat.matchAll(WORD) : []) {
    if (meant(found[0], wanted)) { at = found.index; break; }
  }
  const start = at > width / 2 ? Math.max(0, flat.lastIndexOf(" ", at - 40)) : 0, end = between(flat, start + width);
  return (start ? "… " : "") + flat.slice(start, end).trim() + (end < flat.length ? "…" : "");
}

// Differences

const LONGEST = 6_000;
const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });

/** Split a text into words, spaces and signs, also where no spaces stand between words. */
const split = (text) => Array.from(WORDS.segment(text), (one) => one.segment);

/** Return how many characters two texts share at their beginning, up to a space. */
function shared(before, after, at, most) {
  let length = 0;
  while (length < most && before[at(before, length)] === after[at(after, length)]) length++;
  while (length > 0 && !/\s/.test(before[at(before, length - 1)])) length--;
  return length;
}

/** Diff two texts: [kind, text] with kind "same", "gone" or "new". By words; by sentences and lines if much differs. */
export function difference(before, after) {
  const most = Math.min(before.length, after.length), head = shared(before, after, (text, index) => index, most);
  const tail = shared(before, after, (text, index) => text.length - 1 - index, most - head);
  const parts = compared(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return joined([["same", before.slice(0, head)], ...parts, ["same", before.slice(before.length - tail)]].filter(([, text]) => text));
}

function compared(before, after) {
  let [a, b] = before.length + after.length > LONGEST * 10 ? [[], []] : [split(before), split(after)];
  if (!a.length !== !before.length || !b.length !== !after.length || a.length + b.length > LONGEST) [a, b] = [before, after].map((text) => text.split(/(?<=\n|[.!?。！？]\s?)/u));
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return [
    ...a.slice(0, start).map((text) => ["same", text]),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((text) => ["same", text]),
  ];
}

/** Myers' shortest edit script; texts with too little in common are replaced as a whole. */
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

/** Merge neighbours of one kind, and a lone space between changes into them: phrases read better than single words. */
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

/** Shorten a long unchanged stretch of a diff. */
function shortened(text, first, last) {
  if (text.length < 240) return text;
  const head = first ? "" : text.slice(0, between(text, 90)).replace(/\s\S{0,30}$/u, ""), tail = last ? "" : text.slice(between(text, text.length - 90)).replace(/^\S{0,30}\s/u, "");
  return [head, h("span", { class: "cut" }, " … "), tail];
}

/** Return two texts as nodes, each with the words in <mark> that the other one does not have. */
export function sides(before, after) {
  const parts = difference(before, after);
  return [["gone", before], ["new", after]].map(([own, whole]) => {
    const shown = parts.filter(([kind]) => kind === "same" || kind === own);
    return shown.map(([kind, text], index) => (kind === own ? h("mark", { class: own }, text.length > LONGEST ? [text.slice(0, between(text, LONGEST)), " …"] : text)
      : whole.length < 1_000 ? text : shortened(text, index === 0, index === shown.length - 1)));
  });
}

/** Return the diff of two texts as nodes; long unchanged stretches are shortened. */
export function diffNodes(before, after) {
  const parts = difference(before, after);
  return h("div", { class: "diff" }, parts.map(([kind, text], index) => {
    if (kind === "gone") return h("del", {}, text);
    if (kind === "new") return h("ins", {}, text);
    return shortened(text, index === 0, index === parts.length - 1);
  }));
}
