// Virtual list: rows of equal height, of which only those in view exist. More are fetched before the end is reached.

import { h } from "./dom.js";

const AROUND = 8;

export class EndlessList {
  #items = [];
  #rows = new Map();
  #loading = false;
  #ended = true;
  #height = 0;
  #current = null;
  #place = null; // the row that was open last

  /** `row(item)` creates the link of a row, `key(item)` returns its key, `more()` fetches the next page. */
  constructor({ row, key, more, label }) {
    this.row = row;
    this.key = key;
    this.more = more;
    this.inner = h("div", { class: "rows", role: "list", "aria-label": label });
    this.node = h("div", { class: "endless", onscroll: () => this.#draw() }, this.inner);
    new ResizeObserver(() => { this.#height = 0; this.#draw(); }).observe(this.node);
  }

  get items() { return this.#items; }

  /** Replace the items; with `keep`, keep the scroll position. */
  set(items, { ended = true, keep = false } = {}) {
    const focused = this.#focused(), at = this.#items.findIndex((item) => this.key(item) === focused);
    this.#items = items;
    this.#ended = ended;
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    if (!keep) this.node.scrollTop = 0;
    this.#draw();
    if (focused === null) return;
    const row = this.#rows.get(focused) ?? this.#rows.get(items.length ? this.key(items[Math.min(at, items.length - 1)]) : null);
    row?.firstElementChild.focus({ preventScroll: true }); // or the row that replaced it
  }

  /** Append items. */
  extend(items, { ended }) {
    this.#items = this.#items.concat(items);
    this.#ended = ended;
    this.#draw();
  }

  /** Remove the items with these keys; what is in view stays where it is. */
  drop(keys) {
    const left = this.#items.filter((item) => !keys.has(this.key(item))), height = this.#rowHeight();
    if (left.length === this.#items.length) return;
    const above = this.#items.slice(0, Math.floor(this.node.scrollTop / height)).filter((item) => keys.has(this.key(item))).length;
    this.set(left, { ended: this.#ended, keep: true });
    this.node.scrollTop -= above * height;
  }

  /** Mark the open row. */
  mark(key) {
    this.#current = key;
    this.#place = key ?? this.#place;
    for (const [one, row] of this.#rows) this.#marked(row, one);
  }

  /** Move the focus by `step` rows, from the focused row or the one that is or was open; else focus the first. */
  move(step) {
    if (!this.#items.length) return;
    const from = this.#focused() ?? this.#place;
    const at = this.#items.findIndex((item) => this.key(item) === from);
    const to = at < 0 ? 0 : Math.max(0, Math.min(this.#items.length - 1, at + step));
    this.focus(to);
  }

  /** Focus the row that was open last, or the first in view. */
  back() {
    if (!this.#items.length) return;
    const at = this.#items.findIndex((item) => this.key(item) === this.#place);
    this.focus(at >= 0 ? at : Math.min(this.#items.length - 1, Math.ceil(this.node.scrollTop / this.#rowHeight())));
  }

  /** True if the list is visible: on a small screen the detail pane covers it. */
  get shown() { return this.node.offsetParent !== null; }

  /** Scroll to a row and focus it. */
  focus(index) {
    if (!this.#items.length) return;
    const height = this.#rowHeight(), top = index * height;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + height > this.node.scrollTop + this.node.clientHeight) {
      this.node.scrollTop = top + height - this.node.clientHeight;
    }
    this.#draw();
    this.#rows.get(this.key(this.#items[index]))?.firstElementChild.focus({ preventScroll: true });
  }

  /** Return the item whose row has the focus. */
  focused() {
    const key = this.#focused();
    return key === null ? null : this.#items.find((item) => this.key(item) === key) ?? null;
  }

  get atTop() { return this.node.scrollTop < 40; }

  #focused() {
    for (const [key, row] of this.#rows) if (row.contains(document.activeElement)) return key;
    return null;
  }

  #rowHeight() {
    if (!this.#height) this.#height = parseFloat(getComputedStyle(this.node).getPropertyValue("--row")) || 92;
    return this.#height;
  }

  #draw() {
    const height = this.#rowHeight();
    this.inner.style.height = `${this.#items.length * height}px`;
    const first = Math.max(0, Math.floor(this.node.scrollTop / height) - AROUND);
    const last = Math.min(this.#items.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / height) + AROUND);
    const wanted = new Set();
    for (let index = first; index < last; index++) {
      const item = this.#items[index], key = this.key(item);
      wanted.add(key);
      let row = this.#rows.get(key);
      if (!row) {
        row = h("div", { class: "slot", role: "listitem" }, this.row(item));
        this.#marked(row, key);
        this.#rows.set(key, row);
        // In list order, because Tab and screen readers follow DOM order.
        const before = index > first ? this.#rows.get(this.key(this.#items[index - 1])) : null;
        if (before) before.after(row);
        else this.inner.prepend(row);
      }
      row.style.transform = `translateY(${index * height}px)`;
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-setsize", this.#ended ? this.#items.length : -1);
    }
    for (const [key, row] of this.#rows) {
      if (!wanted.has(key) && !row.contains(document.activeElement)) {
        row.remove();
        this.#rows.delete(key);
      }
    }
    if (!this.#ended && !this.#loading && last > this.#items.length - 30) this.#fetch();
  }

  async #fetch() {
    this.#loading = true;
    try {
      await this.more();
    } finally {
      this.#loading = false;
    }
  }

  #marked(row, key) {
    const link = row.firstElementChild;
    if (key === this.#current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
