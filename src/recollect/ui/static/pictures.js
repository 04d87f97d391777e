// Small SVG charts, each with an equivalent sentence for screen readers.

import { h, s } from "./dom.js";
import { day, number, t } from "./texts.js";

/** Draw an entry's decay over time, with a dot per recall. */
export function decayCurve({ curve = [], recalls = [] }) {
  if (curve.length < 2) return h("p", { class: "hint" }, t("pictures.young"));
  const width = 640, height = 150, left = 34, right = 8, top = 10, bottom = 24;
  const [first, last] = [curve[0][0], curve.at(-1)[0]];
  const most = Math.max(1, ...curve.map(([, factor]) => factor));
  const x = (at) => left + ((at - first) / Math.max(1, last - first)) * (width - left - right);
  const y = (factor) => top + (1 - factor / most) * (height - top - bottom);
  const points = curve.map(([at, factor]) => `${x(at).toFixed(1)},${y(factor).toFixed(1)}`).join(" ");
  const now = curve.at(-1)[1];
  const at = (moment) => {
    let index = curve.findIndex(([one]) => one >= moment);
    if (index < 0) index = curve.length - 1;
    return curve[index][1];
  };
  const shown = recalls.filter(([moment]) => moment >= first && moment <= last);
  const words = t("pictures.decay", { count: recalls.length, day: day(first), now: number(now, 2), most: number(most, 2) });
  return figure(words, s("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "img", "aria-label": words },
    [0, 0.5, 1].map((part) => [
      s("line", { class: "grid", x1: left, x2: width - right, y1: y(part * most), y2: y(part * most) }),
      s("text", { class: "axis", x: left - 6, y: y(part * most) + 4, "text-anchor": "end" }, number(part * most, 1)),
    ]),
    s("polygon", { class: "area", points: `${x(first)},${y(0)} ${points} ${x(last)},${y(0)}` }),
    s("polyline", { class: "curve", points }),
    shown.map(([moment, query]) => s("circle", { class: "dot", cx: x(moment), cy: y(at(moment)), r: 4 },
      s("title", {}, `${day(moment)}: ${query || t("pictures.recalled")}`))),
    s("text", { class: "axis", x: left, y: height - 6 }, day(first)),
    s("text", { class: "axis", x: width - right, y: height - 6, "text-anchor": "end" }, day(last)),
  ));
}

/** Draw the ranking of a hit: the score of each list, the fused score, and the effect of decay. */
export function whyPicture({ why, score, place, best }) {
  const whole = Math.max(best, why.fused, 1e-9), nothing = (given) => given / whole < 0.005;
  const rows = [
    [t("pictures.byWords"), why.words, "BM25", why.words_part, "pictures.foundWords"],
    [t("pictures.byMeaning"), why.vector, "cosine", why.vector_part, "pictures.foundMeaning"],
  ];
  const width = 460, line = 34, label = 116, room = width - label - 96;
  const steps = [
    ...rows.map(([name, list, unit, given]) => ({
      name, part: given / whole, kind: "list",
      text: list ? `${t(nothing(given) ? "pictures.weakest" : "pictures.gives", { place: list[0], given: number(given, 2) })} · ${unit} ${number(list[1], 2)}` : t("pictures.notInList"),
    })),
    { name: t("pictures.together"), part: why.fused / whole, kind: "fused", text: number(why.fused, 3) },
    { name: t("pictures.afterTime"), part: score / whole, kind: "score", text: `× ${number(why.decay, 2)} = ${number(score, 3)}` },
  ];
  const found = rows.filter(([, list]) => list).map(([, list, , , key]) => t(key, { place: list[0] })).join(", ") || t("pictures.noList");
  if (nothing(why.fused)) {
    return h("p", {}, t("pictures.fits", { place, found }));
  }
  const words = t("pictures.why", { place, found, fused: number(why.fused, 3), decay: number(why.decay, 2), score: number(score, 3) });
  return [figure(words, s("svg", { viewBox: `0 0 ${width} ${steps.length * line + 4}`, class: "picture why", role: "img", "aria-label": words },
    steps.map(({ name, part, kind, text }, index) => [
      s("text", { class: "name", x: 0, y: index * line + 21 }, name),
      s("rect", { class: "track", x: label, y: index * line + 9, width: room, height: 14, rx: 3 }),
      s("rect", { class: `bar ${kind}`, x: label, y: index * line + 9, width: Math.max(0, Math.min(1, part)) * room, height: 14, rx: 3 }),
      s("text", { class: "value", x: label + room + 8, y: index * line + 20 }, text.split(" · ")[0]),
      text.includes(" · ") && s("text", { class: "value small", x: label + room + 8, y: index * line + 32 }, text.split(" · ")[1]),
    ]))), h("p", { class: "hint" }, t("pictures.why.hint"))];
}

/** Draw a bar per day: [[at, count], …]. `counted(count)` describes a count, `link(at)` returns the address of a day. */
export function bars(days, { title, counted, link }) {
  const total = days.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.max(1, ...days.map(([, count]) => count));
  const words = t("pictures.bars", { title, total: counted(total), days: t("pictures.barsDays", { count: days.length }), most });
  const width = 520, height = 130, left = Math.max(34, number(most).length * 7 + 8), bottom = 22, step = (width - left) / Math.max(1, days.length);
  const y = (count) => 8 + (1 - count / most) * (height - bottom - 8);
  return figure(words, h("h2", {}, title), s("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: link ? "group" : "img", "aria-label": words },
    [0, 1].map((part) => [
      s("line", { class: "grid", x1: left, x2: width, y1: y(part * most), y2: y(part * most) }),
      s("text", { class: "axis", x: left - 6, y: y(part * most) + 4, "text-anchor": "end" }, number(part * most)),
    ]),
    days.map(([at, count], index) => {
      const says = `${day(at)}: ${counted(count)}`;
      const bar = count > 0 && s("rect", {
        class: "bar", x: left + index * step + step * 0.12, width: Math.max(1, step * 0.76), y: y(count), height: y(0) - y(count), rx: Math.min(3, step / 4),
      }, s("title", {}, says));
      return bar && link ? s("a", { href: link(at), "aria-label": says }, s("rect", { class: "reach", x: left + index * step, width: step, y: 8, height: y(0) - 8 }), bar) : bar;
    }),
    days.length > 0 && s("text", { class: "axis", x: left, y: height - 4 }, day(days[0][0])),
    days.length > 1 && s("text", { class: "axis", x: width, y: height - 4, "text-anchor": "end" }, day(days.at(-1)[0])),
  ));
}

/** Draw parts of a whole as one stacked bar: [[name, size, class], …]. */
export function stacked(parts, whole, label) {
  let at = 0;
  return s("svg", { viewBox: "0 0 1000 16", class: "picture stacked", preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("rect", { class: "track", x: 0, y: 0, width: 1000, height: 16 }),
    parts.map(([name, size], index) => {
      const width = (size / Math.max(1, whole)) * 1000;
      const bar = s("rect", { class: `part p${index % 6}`, x: at, y: 0, width: Math.max(0, width - 2), height: 16 }, s("title", {}, `${name}: ${number(size)}`));
      at += width;
      return bar;
    }));
}

function figure(words, ...drawn) {
  return h("figure", {}, drawn, h("figcaption", {}, words));
}
