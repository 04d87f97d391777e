// Small SVG charts, each with an equivalent sentence for screen readers.

import { day, h, many, number, s } from "./dom.js";

/** Draw an entry's decay over time, with a dot per recall. */
export function decayCurve({ curve = [], recalls = [] }) {
  if (curve.length < 2) return h("p", { class: "hint" }, "It is too young to have a past.");
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
  const words = `${many(recalls.length, "recall", "recalls")} since ${day(first)}; it now counts ${number(now, 2)} of ${number(most, 2)}.`;
  return figure(words, s("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "img", "aria-label": words },
    [0, 0.5, 1].map((part) => [
      s("line", { class: "grid", x1: left, x2: width - right, y1: y(part * most), y2: y(part * most) }),
      s("text", { class: "axis", x: left - 6, y: y(part * most) + 4, "text-anchor": "end" }, number(part * most, 1)),
    ]),
    s("polygon", { class: "area", points: `${x(first)},${y(0)} ${points} ${x(last)},${y(0)}` }),
    s("polyline", { class: "curve", points }),
    shown.map(([moment, query]) => s("circle", { class: "dot", cx: x(moment), cy: y(at(moment)), r: 4 },
      s("title", {}, `${day(moment)}: ${query || "recalled"}`))),
    s("text", { class: "axis", x: left, y: height - 6 }, day(first)),
    s("text", { class: "axis", x: width - right, y: height - 6, "text-anchor": "end" }, day(last)),
  ));
}

/** Draw the ranking of a hit: the score of each list, the fused score, and the effect of decay. */
export function whyPicture({ why, score, place, best }) {
  const whole = Math.max(best, why.fused, 1e-9), nothing = (given) => given / whole < 0.005;
  const rows = [
    ["By its words", why.words, "BM25", why.words_part],
    ["By its meaning", why.vector, "cosine", why.vector_part],
  ];
  const width = 460, line = 34, label = 116, room = width - label - 96;
  const steps = [
    ...rows.map(([name, list, unit, given]) => ({
      name, part: given / whole, kind: "list",
      text: list ? `no. ${list[0]}${nothing(given) ? ", the weakest" : ` gives ${number(given, 2)}`} · ${unit} ${number(list[1], 2)}` : "not in this list",
    })),
    { name: "Together", part: why.fused / whole, kind: "fused", text: number(why.fused, 3) },
    { name: "After time", part: score / whole, kind: "score", text: `× ${number(why.decay, 2)} = ${number(score, 3)}` },
  ];
  const found = rows.filter(([, list]) => list).map(([name, list]) => `${name.toLowerCase()} it is number ${list[0]}`);
  if (nothing(why.fused)) {
    return h("p", {}, `Number ${place}: ${found.join(", ") || "in no list"}. It fits, but the others stand out more: a list counts how far an entry is above the weakest in it, and this one is at that end.`);
  }
  const words = `Number ${place}: ${found.join(", ") || "in no list"}; together ${number(why.fused, 3)}, times ${number(why.decay, 2)} for its age, importance and use, is ${number(score, 3)}.`;
  return [figure(words, s("svg", { viewBox: `0 0 ${width} ${steps.length * line + 4}`, class: "picture why", role: "img", "aria-label": words },
    steps.map(({ name, part, kind, text }, index) => [
      s("text", { class: "name", x: 0, y: index * line + 21 }, name),
      s("rect", { class: "track", x: label, y: index * line + 9, width: room, height: 14, rx: 3 }),
      s("rect", { class: `bar ${kind}`, x: label, y: index * line + 9, width: Math.max(0, Math.min(1, part)) * room, height: 14, rx: 3 }),
      s("text", { class: "value", x: label + room + 8, y: index * line + 20 }, text.split(" · ")[0]),
      text.includes(" · ") && s("text", { class: "value small", x: label + room + 8, y: index * line + 32 }, text.split(" · ")[1]),
    ]))), h("p", { class: "hint" }, "Each list is one way to look. Ranks and scores are put together, then time, importance and use move the result a little: a factor of 1 changes nothing.")];
}

/** Draw a bar per day: [[at, count], …]. */
export function bars(days, { title, unit, units }) {
  const total = days.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.max(1, ...days.map(([, count]) => count));
  const words = `${title}: ${many(total, unit, units)} in ${many(days.length, "day", "days")}, at most ${number(most)} a day.`;
  const width = 520, height = 130, left = 34, bottom = 22, step = (width - left) / Math.max(1, days.length);
  const y = (count) => 8 + (1 - count / most) * (height - bottom - 8);
  return figure(words, h("h3", {}, title), s("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "img", "aria-label": words },
    [0, 1].map((part) => [
      s("line", { class: "grid", x1: left, x2: width, y1: y(part * most), y2: y(part * most) }),
      s("text", { class: "axis", x: left - 6, y: y(part * most) + 4, "text-anchor": "end" }, number(part * most)),
    ]),
    days.map(([at, count], index) => count > 0 && s("rect", {
      class: "bar", x: left + index * step + step * 0.12, width: Math.max(1, step * 0.76), y: y(count), height: y(0) - y(count), rx: Math.min(3, step / 4),
    }, s("title", {}, `${day(at)}: ${many(count, unit, units)}`))),
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
