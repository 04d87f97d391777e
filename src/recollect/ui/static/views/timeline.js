// Timeline view: notes and conversations on one axis, from years to hours. Many items are drawn as counts per bucket.
//
// The server counts what is in view and lists it only if it is little, so the size of the memory does not matter here.

import { get, latest } from "../api.js";
import { button, failed, h, s, set } from "../dom.js";
import { go, href } from "../route.js";
import { dateBy, moment, t } from "../texts.js";

const HOUR = 3_600_000, DAY = 24 * HOUR, YEAR = 365.25 * DAY;
const LISTED = 150; // items that are drawn one by one
const SHORTEST = HOUR; // spans of time that can be shown
const LONGEST = 200 * YEAR;
const LAST = 253_402_300_799_999; // end of the year 9999, the last time that the server accepts
const PAUSE = 90; // milliseconds without a movement, after which data is requested
const ROW = 26, TOP = 30, AXIS = 26, CHART = 220;
const SHORT = 22; // characters of a title
const LETTER = 6.8; // pixels of a character of a title, on average
const TICKS = [["hour", 1], ["hour", 3], ["hour", 6], ["hour", 12], ["day", 1], ["day", 7], ["month", 1], ["month", 3], ["year", 1], ["year", 2], ["year", 5], ["year", 10], ["year", 50]];
const LENGTHS = { hour: HOUR, day: DAY, month: 30.4 * DAY, year: YEAR };
const FORMATS = { hour: { hour: "2-digit", minute: "2-digit" }, day: { day: "numeric", month: "short" }, month: { month: "short", year: "numeric" }, year: { year: "numeric" } };

export class TimelineView {
  #newest = latest();
  #span = null; // the span of time in view: [since, until]
  #data = null;
  #table = false;
  #timer = null;

  constructor(root) {
    const act = (key, run, shortcut) => button(t(key), run, { kind: "small", key: shortcut });
    this.count = h("p", { class: "hint", role: "status" });
    this.toggle = button(t("timeline.table"), () => this.#address({ as: this.#table ? "" : "table" }), { kind: "small" });
    this.chart = h("div", { class: "timeline-chart", tabindex: 0, role: "group", "aria-label": t("timeline.chart"), onwheel: (event) => this.#wheel(event), onpointerdown: (event) => this.#drag(event) });
    this.rows = h("div", { class: "scrolls", tabindex: 0 });
    this.node = h("div", { class: "page wide" }, h("h1", { tabindex: -1 }, t("nav.timeline")), h("p", { class: "lead" }, t("timeline.lead")),
      h("div", { class: "row wrap" }, act("timeline.zoomIn", () => this.#zoom(0.5), "+"), act("timeline.zoomOut", () => this.#zoom(2), "-"), act("timeline.earlier", () => this.#pan(-0.5), "ArrowLeft"),
        act("timeline.later", () => this.#pan(0.5), "ArrowRight"), act("timeline.all", () => this.#address({ from: "", to: "" }), "0"), this.toggle),
      this.count, this.chart, this.rows);
    set(root, this.node);
    new ResizeObserver(() => this.#draw()).observe(this.chart);
  }

  async update({ query }) {
    const from = Number(query.from), to = Number(query.to);
    this.#table = query.as === "table";
    this.toggle.textContent = t(this.#table ? "timeline.picture" : "timeline.table");
    this.#span = from >= 0 && to > from ? [from, Math.min(to, LAST)] : null;
    await this.refresh();
  }

  async refresh() {
    clearTimeout(this.#timer);
    try {
      const [since, until] = this.#span?.map(Math.round) ?? [null, null];
      const found = await this.#newest((signal) => get("/v1/timeline", { since, until, buckets: Math.max(20, Math.min(200, Math.floor(this.#width() / 6))), limit: LISTED }, signal));
      if (!found) return;
      this.#data = found;
      if (!this.#span) this.#span = around(found);
      this.#draw();
    } catch (error) {
      this.#data = null;
      set(this.rows);
      set(this.chart, failed(error, () => this.refresh()));
    }
  }

  /** Handle a shortcut; true if it was handled. */
  key(event) {
    const run = { "+": () => this.#zoom(0.5), "=": () => this.#zoom(0.5), "-": () => this.#zoom(2), ArrowLeft: () => this.#pan(-0.25), ArrowRight: () => this.#pan(0.25), 0: () => this.#address({ from: "", to: "" }) }[event.key];
    run?.();
    return Boolean(run);
  }

  // Movement

  #address(change) {
    const [from, to] = this.#span?.map(Math.round) ?? ["", ""], { as } = { as: this.#table ? "table" : "" };
    go(href(["timeline"], { from: String(from), to: String(to), as, ...change }), { replace: true });
  }

  /** Show another span: at once with the data at hand, after a pause with that of the server. */
  #move(since, until) {
    const length = Math.max(SHORTEST, Math.min(LONGEST, until - since)), start = Math.max(0, Math.min(LAST - length, since + (until - since - length) / 2));
    this.#span = [start, start + length];
    this.#draw();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => { if (this.node.isConnected) this.#address({}); }, PAUSE); // another view may be open by then
  }

  #zoom(factor, at = 0.5) {
    if (!this.#span) return;
    const [since, until] = this.#span, middle = since + (until - since) * at;
    this.#move(middle - (middle - since) * factor, middle + (until - middle) * factor);
  }

  #pan(part) {
    if (!this.#span) return;
    const [since, until] = this.#span, by = (until - since) * part;
    this.#move(since + by, until + by);
  }

  #wheel(event) {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.#pan((event.deltaX || event.deltaY) / 1_000);
    else {
      const box = this.chart.getBoundingClientRect();
      this.#zoom(Math.exp(event.deltaY / 400), (event.clientX - box.left) / box.width);
    }
    event.preventDefault();
  }

  #drag(event) {
    if (event.button !== 0 || !this.#span) return;
    const start = event.clientX, [since, until] = this.#span, width = this.#width();
    const move = (moved) => {
      const by = (start - moved.clientX) / width * (until - since);
      if (Math.abs(moved.clientX - start) > 4) this.chart.classList.add("dragged");
      if (this.chart.classList.contains("dragged")) this.#move(since + by, until + by);
    };
    const end = () => {
      removeEventListener("pointermove", move);
      setTimeout(() => this.chart.classList.remove("dragged")); // after the click that ends it
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
    addEventListener("pointercancel", end, { once: true });
  }

  // Drawing

  #width() { return Math.max(240, this.chart.clientWidth || this.node.clientWidth - 40); }

  #draw() {
    const data = this.#data;
    if (!data || !this.#span) return;
    const notes = data.buckets.reduce((sum, one) => sum + one.entries, 0), talks = data.buckets.reduce((sum, one) => sum + one.conversations, 0);
    const [since, until] = this.#span;
    this.count.textContent = data.first === null ? t("timeline.empty")
      : t("timeline.count", { notes: t("timeline.notes", { count: notes }), conversations: t("conversations.count", { count: talks }), from: moment(since), to: moment(until) });
    this.chart.hidden = this.#table || data.first === null;
    this.rows.hidden = !this.#table;
    if (this.#table) return void set(this.rows, data.items ? this.#items(data.items) : this.#buckets(data.buckets, data.width));
    const width = this.#width(), x = (at) => (at - since) / (until - since) * width;
    const held = document.activeElement?.dataset?.id;
    const [drawn, height] = data.items ? placed(data.items, x, width) : [bars(data, x, (bucket) => this.#into(bucket, data.width)), CHART];
    set(this.chart, s("svg", { class: "timeline", width, height: height + AXIS, viewBox: `0 0 ${width} ${height + AXIS}`, onclick: (event) => { if (this.chart.classList.contains("dragged")) event.preventDefault(); } },
      ticks(since, until, width, x).map(([at, text]) => [s("line", { class: "grid", x1: x(at), x2: x(at), y1: 0, y2: height }), s("text", { class: "axis", x: x(at) + 3, y: height + 16 }, text)]), now(x, width, height), drawn));
    if (held) this.chart.querySelector(`[data-id="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  }

  #into(bucket, width) {
    this.#span = [bucket.at, bucket.at + Math.max(width, SHORTEST)];
    this.#address({});
  }

  #items(items) {
    return h("table", { class: "jobs whole" }, h("thead", {}, h("tr", {}, ["timeline.title", "timeline.kind", "timeline.at", "timeline.held"].map((key) => h("th", { scope: "col" }, t(key))))),
      h("tbody", {}, items.map((one) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: address(one) }, titled(one))), h("td", {}, t(`timeline.kind.${one.kind}`)), h("td", {}, moment(one.at)),
        h("td", {}, one.since || one.until ? `${one.since ? moment(one.since) : ""} – ${one.until ? moment(one.until) : ""}` : "", one.superseded_by && [" ", h("a", { href: href(["memory", one.superseded_by]) }, t("timeline.successor"))])))));
  }

  #buckets(buckets, width) {
    return h("table", { class: "jobs whole" }, h("thead", {}, h("tr", {}, ["timeline.from", "memory.kind.notes", "nav.conversations", "timeline.zoomIn"].map((key) => h("th", { scope: "col" }, t(key))))),
      h("tbody", {}, buckets.map((one) => h("tr", {}, h("th", { scope: "row" }, moment(one.at)), h("td", {}, String(one.entries)), h("td", {}, String(one.conversations)),
        h("td", {}, button(t("timeline.zoomIn"), () => this.#into(one, width), { kind: "small", "aria-label": t("timeline.into", { from: moment(one.at) }) }))))));
  }
}

const address = (item) => href([item.kind === "entry" ? "memory" : "conversations", item.id]);
const titled = (item) => item.title || t("conversations.noMessage");
const shortened = (item, most = SHORT) => (titled(item).length > most ? `${titled(item).slice(0, most - 1)}…` : titled(item));

/** Return the span of all data with a margin: at least a day, which ends with the data. */
function around({ since, until }) {
  const length = Math.max(DAY, until - since), margin = length * 0.04;
  return [Math.max(0, until - length - margin), until + margin];
}

/** Return the ticks of the axis as [at, text]: at most one per 90 pixels, at full hours, days, months or years. */
function ticks(since, until, width) {
  const room = (until - since) / Math.max(2, width / 90);
  const [unit, step] = TICKS.find(([one, many]) => LENGTHS[one] * many >= room) ?? TICKS.at(-1);
  const at = new Date(since), found = [];
  at.setMinutes(0, 0, 0);
  if (unit === "hour") at.setHours(at.getHours() - at.getHours() % step);
  else at.setHours(0);
  if (unit === "month") at.setMonth(at.getMonth() - at.getMonth() % step, 1);
  if (unit === "year") at.setFullYear(at.getFullYear() - at.getFullYear() % step, 0, 1);
  const next = { hour: () => at.setHours(at.getHours() + step), day: () => at.setDate(at.getDate() + step), month: () => at.setMonth(at.getMonth() + step), year: () => at.setFullYear(at.getFullYear() + step) }[unit];
  for (; at.getTime() < until && found.length < 100; next()) {
    const midnight = unit === "hour" && at.getHours() === 0;
    if (at.getTime() >= since) found.push([at.getTime(), dateBy(at.getTime(), midnight ? FORMATS.day : FORMATS[unit])]);
  }
  return found;
}

/** Draw the present as a line. */
const now = (x, width, height) => x(Date.now()) >= 0 && x(Date.now()) <= width && s("line", { class: "now", x1: x(Date.now()), x2: x(Date.now()), y1: 0, y2: height });

/** Draw counts: notes upwards, conversations downwards. A click zooms into a bucket. */
function bars({ buckets, width }, x, into) {
  const most = Math.max(1, ...buckets.map((one) => Math.max(one.entries, one.conversations))), half = CHART / 2 - 6;
  const tall = (count) => (count ? Math.max(2, Math.sqrt(count / most) * half) : 0); // the square root: beside the day of an import, others stay visible
  return buckets.map((one) => {
    const left = x(one.at), wide = Math.max(1.5, x(one.at + width) - left - 1);
    return s("g", { class: "bucket", onclick: () => into(one) }, s("title", {}, `${moment(one.at)}: ${t("timeline.notes", { count: one.entries })}, ${t("conversations.count", { count: one.conversations })}`),
      s("rect", { class: "hit", x: left, y: 0, width: wide, height: CHART }),
      s("rect", { class: "bar", x: left, y: CHART / 2 - tall(one.entries), width: wide, height: tall(one.entries) }),
      s("rect", { class: "bar talk", x: left, y: CHART / 2, width: wide, height: tall(one.conversations) }));
  });
}

/** Draw items in rows without overlaps: a bar while one holds or goes on, a dot otherwise; and a step to each successor. */
function placed(items, x, width) {
  const ends = [], places = new Map();
  for (const item of items) {
    const start = x(item.since ?? item.at), end = item.until ? x(item.until) : start, long = shortened(item).length * LETTER + 14;
    if (Math.max(end, start + long) < 0 || Math.min(start, x(item.at)) > width) continue;
    const left = Math.max(6, start), before = left + long > width && left > width - left; // the title is on the wider side if there is no room after the mark
    const title = shortened(item, Math.max(4, Math.min(SHORT, Math.floor(((before ? left : width - left) - 14) / LETTER)))), text = title.length * LETTER + 14;
    let row = ends.findIndex((taken) => taken < (before ? left - text : left) - 8);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = Math.max(end, before ? left + 8 : left + text);
    places.set(item.id, { item, left, title, text, before, right: Math.max(left, Math.min(width - 2, end)), y: TOP + row * ROW });
  }
  const steps = [...places.values()].filter(({ item }) => places.has(item.superseded_by)).map(({ item, right, y }) => {
    const next = places.get(item.superseded_by);
    return s("path", { class: "step", d: `M${right} ${y}H${Math.max(right, next.left)}V${next.y}` });
  });
  const links = [...places.values()].map(({ item, left, right, title, text, before, y }) => s("a", { href: address(item), "data-id": item.id, class: `item ${item.kind} ${item.category ?? ""}${item.superseded_by ? " past" : ""}` },
    s("title", {}, `${titled(item)}, ${moment(item.at)}`), s("rect", { class: "focus", x: before ? left - text : left - 7, y: y - 12, width: text + 7, height: 23, rx: 6 }),
    right - left > 3 && s("rect", { class: "validity", x: left, y: y + 5, width: right - left, height: 4, rx: 2 }),
    item.kind === "entry" ? s("circle", { class: "mark", cx: left, cy: y, r: 5 }) : s("rect", { class: "mark", x: left - 5, y: y - 5, width: 10, height: 10, rx: 2 }),
    s("text", { class: "label", x: before ? left - 10 : left + 10, y: y + 4, "text-anchor": before ? "end" : null }, title)));
  return [[steps, links], Math.max(CHART, TOP + ends.length * ROW)];
}
