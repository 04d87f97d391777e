// Markdown renderer that builds nodes. Content is untrusted: HTML is shown as text, links go only to http, https and
// mailto, and images become links. Running time is bounded too: no character is scanned over and over, however long
// the text is.

import { h } from "./dom.js";
import { t } from "./texts.js";

const LONGEST = 200_000;
const DEEPEST = 12;

/** Render a text as nodes. `name(text)` returns the address of a [[name]], or null. */
export function markdown(text, { name = () => null } = {}) {
  const cut = text.length > LONGEST;
  const made = h("div", { class: "prose" }, blocks(lines(cut ? text.slice(0, LONGEST) : text), { name }, 0));
  for (const block of made.children) if (block.tagName !== "PRE") block.dir = "auto";
  if (cut) {
    made.append(h("p", { class: "hint" }, t("markdown.cut", { count: LONGEST })));
  }
  return made;
}

const lines = (text) => text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");

const FENCE = /^ {0,3}(~{3,}|`{3,}(?=[^`]*$))/;
const HEADING = /^ {0,3}(#{1,6}) +(.*)$/s;
const UNDERLINE = /^ {0,3}(?:(=+)|-{3,}) *$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const CODE = /^ {4}/;
const ITEM = /^( *)(?:([-*+])|(\d{1,9})[.)])( +|$)/;
const ROW = /^ *\|.*\| *$/;
const COLUMNS = /^ *\|(?: *:?-+:? *\|)+ *$/;

function blocks(all, links, depth) {
  const made = [];
  let at = 0;
  while (at < all.length) {
    const line = all[at];
    let found;
    if (!line.trim()) at++;
    else if ((found = FENCE.exec(line))) {
      const close = new RegExp(`^ {0,3}${found[1][0]}{${found[1].length},} *$`);
      let end = at + 1;
      while (end < all.length && !close.test(all[end])) end++;
      made.push(verbatim(all.slice(at + 1, end)));
      at = end + 1;
    } else if ((found = HEADING.exec(line))) {
      made.push(heading(found[1].length, titled(found[2]), links));
      at++;
    } else if (RULE.test(line)) {
      made.push(h("hr"));
      at++;
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      let end = at;
      while (end < all.length && all[end].trim() && (QUOTE.test(all[end]) || !starts(all[end]))) end++;
      made.push(h("blockquote", {}, blocks(all.slice(at, end).map((one) => one.replace(QUOTE, "")), links, depth + 1)));
      at = end;
    } else if (ITEM.test(line) && depth < DEEPEST) {
      const [list, end] = listed(all, at, links, depth);
      made.push(list);
      at = end;
    } else if (tabled(all, at)) {
      let end = at + 2;
      while (end < all.length && ROW.test(all[end])) end++;
      made.push(table(line, all.slice(at + 2, end), links));
      at = end;
    } else if (CODE.test(line)) {
      let end = at + 1;
      for (let next = end; next < all.length && (CODE.test(all[next]) || !all[next].trim()); next++) if (all[next].trim()) end = next + 1;
      made.push(verbatim(all.slice(at, end).map((one) => one.slice(4))));
      at = end;
    } else {
      let end = at + 1;
      while (end < all.length && all[end].trim() && !UNDERLINE.test(all[end]) && !starts(all[end]) && !tabled(all, end)) end++;
      const text = all.slice(at, end).map((one) => one.trimStart()).join("\n");
      const under = UNDERLINE.exec(all[end] ?? "");
      made.push(under ? heading(under[1] ? 1 : 2, text, links) : h("p", {}, inline(text, links)));
      at = under ? end + 1 : end;
    }
  }
  return made;
}

const verbatim = (all) => h("pre", { tabindex: 0 }, h("code", {}, all.join("\n")));

/** Create a heading. The first two levels are reserved for the page. */
const heading = (level, text, links) => h(`h${Math.min(6, level + 2)}`, {}, inline(text, links));

/** Remove the closing # of a heading. */
function titled(text) {
  const bare = text.trimEnd();
  let end = bare.length;
  while (bare[end - 1] === "#") end--;
  return end === 0 || bare[end - 1] === " " ? bare.slice(0, end).trimEnd() : bare;
}

const starts = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);

/** True if a table starts here: a row followed by a delimiter row. */
const tabled = (all, at) => ROW.test(all[at]) && COLUMNS.test(all[at + 1] ?? "");

function listed(all, at, links, depth) {
  const first = ITEM.exec(all[at]), ordered = first[3] !== undefined, indent = first[1].length;
  const list = h(ordered ? "ol" : "ul", { start: ordered && first[3] !== "1" ? Number(first[3]) : null });
  while (at < all.length) {
    const item = ITEM.exec(all[at]);
    if (!item || item[1].length > indent + 3 || item[1].length < indent || (item[3] !== undefined) !== ordered) break;
    if (RULE.test(all[at])) break;
    const width = item[0].length;
    const inner = [all[at].slice(width)];
    at++;
    while (at < all.length) {
      const line = all[at], lead = line.length - line.trimStart().length;
      if (line.trim() ? lead > indent : (all[at + 1] ?? "").search(/\S/) > indent) inner.push(line.slice(Math.min(lead, width)));
      else if (line.trim() && !starts(line) && inner.at(-1).trim()) inner.push(line);
      else break;
      at++;
    }
    list.append(h("li", {}, task(inner), tight(blocks(inner, links, depth + 1))));
    let next = at;
    while (next < all.length && !all[next].trim()) next++;
    if (next > at && ITEM.test(all[next] ?? "")) at = next;
  }
  return [list, at];
}

/** Create the checkbox of a task, read-only: the text is the source. */
function task(inner) {
  const found = /^\[([ xX])\] /.exec(inner[0]);
  if (!found) return null;
  inner[0] = inner[0].slice(4);
  const done = found[1] !== " ";
  return h("span", { class: done ? "box done" : "box", role: "img", "aria-label": t(done ? "markdown.done" : "markdown.open") });
}

const tight = (made) => (made[0]?.tagName === "P" ? [[...made[0].childNodes], made.slice(1)] : made);

function table(head, rows, links) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).slice(0, 40).map((one) => one.trim());
  return h("div", { class: "scrolls", tabindex: 0 }, h("table", {},
    h("thead", {}, h("tr", {}, cells(head).map((one) => h("th", { scope: "col" }, inline(one, links))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells(row).map((one) => h("td", {}, inline(one, links))))))));
}

// Inline markup

const SPECIAL = /[\\`*_~[!<h\n]/g;
const ADDRESS = /https?:\/\/[^\s<>"'`\]]+/y;
const ANGLE = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const MARKS = [["***", "em", "strong"], ["___", "em", "strong"], ["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

/** True if a link may have this URL. */
export const safe = (link) => /^(?:https?:\/\/|mailto:)[^\s\u0000-\u001f]+$/i.test(link);

const anchor = (link, content) => h("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, content);

function inline(text, links, depth = 0) {
  const nodes = [], next = new Map();
  let at = 0, plain = 0;
  const put = (node, end) => {
    if (at > plain) nodes.push(text.slice(plain, at));
    if (node !== null) nodes.push(node);
    at = plain = end;
  };
  // Cache where a mark occurs next until that position is passed: searching every time would be quadratic.
  const closing = (mark, from) => {
    if (!(next.get(mark) >= from)) {
      const found = text.indexOf(mark, from);
      next.set(mark, found < 0 ? Infinity : found);
    }
    return next.get(mark) === Infinity ? -1 : next.get(mark);
  };
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (!special) break;
    at = special.index;
    const char = text[at];
    if (char === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      put(null, at + 1);
      at = plain + 1;
    } else if (char === "`") code(text, at, put, closing);
    else if (char === "\n") put(text[at - 1] === "\\" || text.slice(at - 2, at) === "  " ? h("br") : "\n", at + 1);
    else if (char === "[" || char === "!") bracket(text, at, links, depth, put, closing);
    else if (char === "h" && !/[\p{L}\p{N}]/u.test(text[at - 1] ?? " ")) web(text, at, put);
    else if (char === "<") {
      ANGLE.lastIndex = at;
      const found = ANGLE.exec(text);
      if (found && safe(found[1])) put(anchor(found[1], found[1]), ANGLE.lastIndex);
    } else if (depth < DEEPEST) emphasis(text, at, links, depth, put, closing);
    if (at === special.index) at++;
  }
  at = text.length;
  put(null, at);
  return nodes;
}

function code(text, at, put, closing) {
  let size = 1;
  while (text[at + size] === "`") size++;
  const ticks = "`".repeat(Math.min(size, 8));
  const end = size <= 8 ? closing(ticks, at + size) : -1;
  if (end > 0) put(h("code", {}, text.slice(at + size, end).replace(/^ (.*) $/s, "$1")), end + size);
  else put(text.slice(at, at + size), at + size);
}

function bracket(text, at, links, depth, put, closing) {
  const image = text[at] === "!";
  const open = image ? at + 1 : at;
  if (text[open] !== "[") return;
  if (!image && text[open + 1] === "[") {
    const end = closing("]]", open + 2);
    const inner = end < 0 ? "" : text.slice(open + 2, end);
    if (inner.length < 300 && inner.trim() && !/[[\]\n]/.test(inner)) put(inside(inner, links), end + 2);
    return;
  }
  const end = closing("](", open + 1);
  if (end < 0 || end - open > 1_000) return;
  const label = text.slice(open + 1, end);
  let stop = end + 2, parens = 0;
  while (stop < text.length && stop - end < 2_000 && !(text[stop] === ")" && parens === 0) && text[stop] !== "\n") {
    if (text[stop] === "(") parens++;
    if (text[stop] === ")") parens--;
    stop++;
  }
  if (text[stop] !== ")" || label.includes("\n\n")) return;
  const link = text.slice(end + 2, stop).trim().replace(/\s+["'(].*$/, "").replace(/^<(.*)>$/, "$1");
  const shown = depth < DEEPEST && !image ? inline(label, links, depth + 1) : label;
  // An unsafe link is rendered as its text, with the URL as tooltip.
  put(safe(link) ? anchor(link, shown) : h("span", { class: "nolink", title: link }, shown), stop + 1);
}

/** Render [[name]], [[name|text]] or [[name#part]] as a link to another entry. */
function inside(inner, links) {
  const [target, ...text] = inner.split("|");
  const shown = text.join("|").trim() || target.trim();
  const where = links.name(target.trim()) ?? links.name(target.split("#")[0].trim());
  return where ? h("a", { href: where, class: "inner" }, shown)
    : h("span", { class: "broken", title: t("markdown.broken") }, shown);
}

function web(text, at, put) {
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text);
  if (!found) return;
  const link = address(found[0]);
  if (link.length > 10) put(anchor(link, link), at + link.length);
}

/** Strip trailing punctuation of the sentence from a bare URL; keep a closing bracket that was opened within it. */
function address(found) {
  let end = found.length, open = found.split("(").length - found.split(")").length;
  while (".,;:!?)*_~".includes(found[end - 1]) && !(found[end - 1] === ")" && open >= 0)) {
    if (found[end - 1] === ")") open++;
    end--;
  }
  return found.slice(0, end);
}

function emphasis(text, at, links, depth, put, closing) {
  for (const [mark, ...tags] of MARKS) {
    if (!text.startsWith(mark, at)) continue;
    const after = text[at + mark.length] ?? " ";
    if (/\s/.test(after) || after === mark[0]) return;
    if (mark[0] === "_" && /[\p{L}\p{N}]/u.test(text[at - 1] ?? " ")) return;
    const end = closing(mark, at + mark.length + 1);
    const follows = text[end + mark.length] ?? " ";
    if (end < 0 || end - at > 5_000 || /\s/.test(text[end - 1]) || (mark[0] === "_" && /[\p{L}\p{N}]/u.test(follows))) return;
    const inner = inline(text.slice(at + mark.length, end), links, depth + 1);
    put(tags.reduceRight((made, tag) => h(tag, {}, made), inner), end + mark.length);
    return;
  }
}
