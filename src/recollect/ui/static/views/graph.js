// Graph view: notes and their connections on a canvas, laid out by a worker; the same as a list for those who prefer one.

import { get, latest } from "../api.js";
import { button, failed, h, set, waiting } from "../dom.js";
import { go, href } from "../route.js";
import { day, t } from "../texts.js";

const KINDS = ["link", "evidence", "successor", "name"];
const COLOURS = ["ground", "surface", "text", "soft", "edge", "strong-line", "accent", "decisions", "lessons", "tasks", "projects", "handoffs"];
const ARROWS = { ArrowRight: 0, ArrowDown: Math.PI / 2, ArrowLeft: Math.PI, ArrowUp: -Math.PI / 2 };
const NEIGHBOURS = 12; // of the selected note that are listed below the picture
const LISTED = 100; // rows of the list that are added at a time
const TITLE = 28; // characters of a title
const LABELLED = 14; // pixels between neighbours from which on every node in view has its title
const NEAR = 14; // pixels around a node that select it

export class GraphView {
  #newest = latest();
  #nodes = [];
  #edges = [];
  #around = []; // by node: [[neighbour, kind, name], …] of the kinds that are shown
  #places = null; // positions of the nodes: {x, y}
  #selected = -1;
  #shown = new Set(KINDS);
  #view = { scale: 1, x: 0, y: 0 }; // the point of the graph in the middle, and pixels per unit
  #moved = false;
  #list = false;
  #worker = null;
  #frame = null;
  #rows = LISTED;
  #loaded = null; // the graph that is shown, as text

  constructor(root) {
    const act = (key, run, shortcut) => button(t(key), run, { kind: "small", key: shortcut });
    this.count = h("p", { class: "hint", role: "status" }, t("common.loading"));
    this.kinds = h("div", { class: "row wrap", role: "group", "aria-label": t("graph.kinds") }, KINDS.map((kind) => h("button", { type: "button", class: "chip", "aria-pressed": "true", "data-kind": kind, onclick: () => this.#toggle(kind) }, t(`graph.kind.${kind}`))));
    this.toggle = button(t("graph.list"), () => this.#go({ as: this.#list ? "" : "list" }), { kind: "small" });
    this.tools = h("div", { class: "row wrap" }, act("timeline.zoomIn", () => this.#zoom(1.5), "+"), act("timeline.zoomOut", () => this.#zoom(1 / 1.5), "-"), act("timeline.all", () => this.#fit(true), "0"));
    this.canvas = h("canvas", { class: "graph", tabindex: 0, role: "application", "aria-label": t("graph.picture"), "aria-describedby": "graph-keys", onwheel: (event) => this.#wheel(event), onpointerdown: (event) => this.#press(event), onfocus: () => { if (this.#selected < 0 && this.#nodes.length) this.#select(0, { centre: false }); } });
    this.keys = h("p", { class: "hint", id: "graph-keys" }, t("graph.keys"));
    this.about = h("div", { class: "graph-about", "aria-live": "polite" });
    this.rows = h("div", {});
    this.picture = h("div", { class: "stack" }, this.tools, this.canvas, this.about, this.keys);
    this.node = h("div", { class: "page wide" }, h("h1", { tabindex: -1 }, t("nav.graph")), h("p", { class: "lead" }, t("graph.lead")), h("div", { class: "row wrap" }, this.kinds, this.toggle), this.count, this.picture, this.rows);
    set(root, this.node);
    set(this.about, waiting());
    new ResizeObserver(() => this.#later()).observe(this.canvas);
    const watch = new MutationObserver(() => (this.node.isConnected ? this.#later() : watch.disconnect())); // another theme
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  async update({ parts, query }) {
    this.#list = query.as === "list";
    this.toggle.textContent = t(this.#list ? "graph.asPicture" : "graph.list");
    if (!this.#loaded) await this.refresh();
    const wanted = parts[0] ? this.#nodes.findIndex((one) => one.id === parts[0]) : this.#selected;
    if (wanted !== this.#selected && wanted >= 0) this.#select(wanted);
    this.#draw();
  }

  /** Reload; the layout is kept if nothing changed. */
  async refresh(changes = []) {
    if (changes.length && changes.every((one) => one.conversation_id)) return;
    try {
      const found = await this.#newest((signal) => get("/v1/graph", {}, signal)), said = JSON.stringify(found);
      if (!found || said === this.#loaded) return;
      this.#loaded = said;
      this.#take(found);
    } catch (error) {
      if (this.#loaded) return; // the frame reports it; keep the content until the server is back
      this.count.textContent = "";
      set(this.about, failed(error, () => this.refresh()));
    }
  }

  /** Handle a shortcut; true if it was handled. */
  key(event) {
    if (this.#list) return false;
    const act = { "+": () => this.#zoom(1.5), "=": () => this.#zoom(1.5), "-": () => this.#zoom(1 / 1.5), 0: () => this.#fit(true), j: () => this.#step(1), k: () => this.#step(-1) }[event.key];
    act?.();
    if (act || document.activeElement !== this.canvas || this.#selected < 0) return Boolean(act);
    if (event.key === "Enter") go(href(["memory", this.#nodes[this.#selected].id]));
    else if (event.key in ARROWS) this.#along(ARROWS[event.key]);
    else return false;
    return true;
  }

  // Data and layout

  #take({ nodes, edges, left_out: left }) {
    const before = this.#nodes[this.#selected]?.id, degree = new Map();
    for (const { source, target } of edges) for (const id of [source, target]) degree.set(id, (degree.get(id) ?? 0) + 1);
    this.#nodes = nodes.map((one) => ({ ...one, degree: degree.get(one.id) ?? 0 })).sort((a, b) => b.degree - a.degree || b.at - a.at);
    const places = new Map(this.#nodes.map((one, place) => [one.id, place]));
    this.#edges = edges.map((one) => ({ ...one, from: places.get(one.source), to: places.get(one.target) }));
    this.#selected = before === undefined ? -1 : places.get(before) ?? -1;
    this.count.textContent = nodes.length ? t(left ? "graph.countLeft" : "graph.count", { notes: t("timeline.notes", { count: nodes.length }), edges: t("graph.edges", { count: edges.length }), left }) : t("timeline.empty");
    this.#connect();
    this.#describe();
    this.#lay();
    this.#draw();
  }

  #connect() {
    this.#around = this.#nodes.map(() => []);
    for (const { from, to, kind, name } of this.#edges) {
      if (!this.#shown.has(kind)) continue;
      this.#around[from].push([to, kind, name]);
      this.#around[to].push([from, kind, name]);
    }
  }

  /** Have the worker place the nodes; the picture follows as they settle. */
  #lay() {
    this.#worker?.terminate();
    if (!this.#nodes.length) return;
    const started = performance.now();
    this.#worker = new Worker("static/graph_layout.js");
    this.#worker.onerror = () => this.#go({ as: "list" }); // its file could not be loaded
    this.#worker.onmessage = ({ data: { x, y, done } }) => {
      this.#places = { x, y };
      if (!this.#moved) this.#fit();
      this.#later();
      if (!this.node.isConnected) this.#worker.terminate();
      if (done) {
        this.canvas.dataset.laid = String(Math.round(performance.now() - started)); // for bench/page.py
        this.#worker.terminate();
      }
    };
    this.#worker.postMessage({ count: this.#nodes.length, edges: Int32Array.from(this.#edges.flatMap(({ from, to }) => [from, to])) });
  }

  #toggle(kind) {
    this.#shown.has(kind) ? this.#shown.delete(kind) : this.#shown.add(kind);
    this.kinds.querySelector(`[data-kind="${kind}"]`).setAttribute("aria-pressed", String(this.#shown.has(kind)));
    this.#connect();
    this.#describe();
    this.#draw();
  }

  // Selection

  #go(change) {
    const chosen = this.#nodes[this.#selected]?.id;
    go(href(chosen ? ["graph", chosen] : ["graph"], { as: this.#list ? "list" : "", ...change }), { replace: true });
  }

  #select(place, { centre = true } = {}) {
    this.#selected = place;
    if (centre && this.#places && !this.#visible(place)) Object.assign(this.#view, { x: this.#places.x[place], y: this.#places.y[place] });
    this.#describe();
    this.#later();
  }

  #step(by) {
    if (this.#nodes.length) this.#select(Math.max(0, Math.min(this.#nodes.length - 1, this.#selected + by)));
  }

  /** Select the neighbour that lies most in a direction. */
  #along(angle) {
    if (!this.#places) return;
    const { x, y } = this.#places, at = this.#selected;
    let best = -1, turn = Math.PI * 0.6;
    for (const [other] of this.#around[at]) {
      const away = Math.abs(Math.atan2(Math.sin(Math.atan2(y[other] - y[at], x[other] - x[at]) - angle), Math.cos(Math.atan2(y[other] - y[at], x[other] - x[at]) - angle)));
      if (away < turn) [best, turn] = [other, away];
    }
    if (best >= 0) this.#select(best);
  }

  #describe() {
    const node = this.#nodes[this.#selected];
    if (!node) return void set(this.about, this.#nodes.length > 0 && h("p", { class: "hint" }, t("graph.none")));
    const near = this.#around[this.#selected];
    set(this.about, h("p", {}, h("a", { href: href(["memory", node.id]) }, node.title), h("span", { class: "hint" }, ` ${day(node.at)} · ${t("graph.edges", { count: near.length })}`)),
      near.length > 0 && h("ul", { class: "links" }, near.slice(0, NEIGHBOURS).map((one) => this.#neighbour(one))));
  }

  #neighbour([other, kind, name]) {
    return h("li", {}, h("a", { href: href(["memory", this.#nodes[other].id]) }, this.#nodes[other].title), h("span", { class: "hint" }, ` ${t(`graph.kind.${kind}`)}${name ? `: ${name}` : ""}`));
  }

  // Movement

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
  }

  #zoom(factor, [dx, dy] = [0, 0]) {
    const view = this.#view, scale = Math.max(0.02, Math.min(8, view.scale * factor));
    view.x += dx / view.scale - dx / scale;
    view.y += dy / view.scale - dy / scale;
    view.scale = scale;
    this.#moved = true;
    this.#later();
  }

  #wheel(event) {
    this.#zoom(Math.exp(-event.deltaY / 400), this.#point(event));
    event.preventDefault();
  }

  #press(event) {
    if (event.button !== 0) return;
    const { x, y } = this.#view, [startX, startY] = [event.clientX, event.clientY];
    let dragged = false;
    const move = (moved) => {
      dragged ||= Math.hypot(moved.clientX - startX, moved.clientY - startY) > 4;
      if (!dragged) return;
      this.#moved = true;
      Object.assign(this.#view, { x: x - (moved.clientX - startX) / this.#view.scale, y: y - (moved.clientY - startY) / this.#view.scale });
      this.#later();
    };
    const end = (up) => {
      removeEventListener("pointermove", move);
      if (!dragged && up.type === "pointerup") this.#pick(this.#point(up));
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
    addEventListener("pointercancel", end, { once: true });
  }

  #pick([dx, dy]) {
    if (!this.#places) return;
    const { scale, x, y } = this.#view, [atX, atY] = [x + dx / scale, y + dy / scale];
    let best = -1, near = NEAR / scale;
    for (let node = 0; node < this.#nodes.length; node++) {
      const far = Math.hypot(this.#places.x[node] - atX, this.#places.y[node] - atY);
      if (far < near) [best, near] = [node, far];
    }
    if (best >= 0) this.#select(best, { centre: false });
  }

  /** Show the whole graph. */
  #fit(asked = false) {
    if (!this.#places) return;
    const reach = (values) => values.reduce(([least, most], one) => [Math.min(least, one), Math.max(most, one)], [Infinity, -Infinity]);
    const [[left, right], [top, bottom]] = [reach(this.#places.x), reach(this.#places.y)];
    const scale = Math.min(2, (this.canvas.clientWidth - 60) / Math.max(60, right - left), (this.canvas.clientHeight - 60) / Math.max(60, bottom - top));
    this.#view = { scale: Math.max(0.02, scale), x: (left + right) / 2, y: (top + bottom) / 2 };
    if (asked) this.#moved = false;
    this.#later();
  }

  #visible(node) {
    const { scale, x, y } = this.#view;
    return Math.abs(this.#places.x[node] - x) * scale < this.canvas.clientWidth / 2 - 20 && Math.abs(this.#places.y[node] - y) * scale < this.canvas.clientHeight / 2 - 20;
  }

  // Drawing

  #later() {
    this.#frame ??= requestAnimationFrame(() => { this.#frame = null; this.#draw(); });
  }

  #draw() {
    this.picture.hidden = this.#list || !this.#nodes.length && Boolean(this.#loaded);
    this.rows.hidden = !this.#list;
    if (this.#list) return this.#drawList();
    const { canvas } = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!this.#places || !width) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const style = getComputedStyle(document.documentElement), colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const pen = canvas.getContext("2d"), { scale, x, y } = this.#view;
    const at = (node) => [(this.#places.x[node] - x) * scale + width / 2, (this.#places.y[node] - y) * scale + height / 2];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.#drawEdges(pen, at, colours);
    this.#drawNodes(pen, at, colours, scale, width, height);
  }

  #drawEdges(pen, at, colours) {
    for (const kind of KINDS) {
      if (!this.#shown.has(kind)) continue;
      pen.lineWidth = kind === "name" ? 0.6 : 1.2;
      pen.setLineDash(kind === "evidence" ? [4, 3] : kind === "successor" ? [1, 3] : []);
      pen.strokeStyle = kind === "name" ? colours["strong-line"] : colours.edge;
      for (const edge of this.#edges) {
        if (edge.kind !== kind) continue;
        pen.beginPath(); // a path of thousands of lines takes several times as long as each line on its own
        pen.moveTo(...at(edge.from));
        pen.lineTo(...at(edge.to));
        pen.stroke();
      }
    }
    pen.setLineDash([]);
    if (this.#selected < 0) return;
    pen.beginPath();
    for (const [other] of this.#around[this.#selected]) {
      pen.moveTo(...at(this.#selected));
      pen.lineTo(...at(other));
    }
    pen.lineWidth = 2;
    pen.strokeStyle = colours.accent;
    pen.stroke();
  }

  #drawNodes(pen, at, colours, scale, width, height) {
    const size = (node) => Math.max(1.5, Math.min(9, (2.6 + Math.sqrt(this.#nodes[node].degree)) * Math.sqrt(scale)));
    const named = [];
    for (let node = this.#nodes.length - 1; node >= 0; node--) {
      const [left, top] = at(node), { category, past } = this.#nodes[node];
      if (left < -20 || top < -20 || left > width + 20 || top > height + 20) continue;
      pen.beginPath();
      pen.arc(left, top, size(node), 0, Math.PI * 2);
      pen.fillStyle = past ? colours.surface : colours[category] ?? colours.soft;
      pen.strokeStyle = past ? colours.soft : colours.surface;
      pen.lineWidth = 1;
      pen.fill();
      pen.stroke();
      named.push(node);
    }
    this.#drawTitles(pen, at, colours, size, named, width);
    if (this.#selected < 0) return;
    const [left, top] = at(this.#selected);
    pen.beginPath();
    pen.arc(left, top, size(this.#selected) + 4, 0, Math.PI * 2);
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2.5;
    pen.stroke();
  }

  /** Write titles where there is room: of the selected note and its neighbours first, then of the most connected ones. */
  #drawTitles(pen, at, colours, size, inView, width) {
    const first = this.#selected < 0 ? [] : [this.#selected, ...this.#around[this.#selected].slice(0, NEIGHBOURS).map(([other]) => other)];
    const order = [...new Set([...first, ...inView.reverse().slice(0, 400)])], taken = [];
    pen.font = getComputedStyle(this.canvas).font;
    pen.lineWidth = 3;
    pen.strokeStyle = colours.ground;
    for (const node of order) {
      const [left, top] = at(node), { title } = this.#nodes[node], text = title.length > TITLE ? `${title.slice(0, TITLE - 1)}…` : title;
      const wide = pen.measureText(text).width + 6, after = left + size(node) + 3, before = after + wide > width && left - size(node) - wide > 0;
      const box = [before ? left - size(node) - wide : after, top - LABELLED / 2, wide, LABELLED];
      if (taken.some(([x, y, wide, tall]) => box[0] < x + wide && x < box[0] + box[2] && box[1] < y + tall && y < box[1] + box[3])) continue;
      taken.push(box);
      pen.strokeText(text, box[0], top + 4);
      pen.fillStyle = node === this.#selected ? colours.accent : colours.text;
      pen.fillText(text, box[0], top + 4);
      if (taken.length > 60) break;
    }
  }

  #drawList() {
    const shown = this.#nodes.slice(0, this.#rows);
    set(this.rows, h("ol", { class: "graph-list" }, shown.map((node, place) => h("li", {}, h("a", { href: href(["memory", node.id]) }, node.title), h("details", {}, h("summary", {}, h("span", { class: "hint" }, t("graph.edges", { count: this.#around[place].length }))),
      h("ul", { class: "links" }, this.#around[place].slice(0, 50).map((one) => this.#neighbour(one))))))),
    this.#nodes.length > shown.length && h("div", { class: "more" }, button(t("common.more"), () => { this.#rows += LISTED; this.#drawList(); }, { kind: "small" })));
  }
}
