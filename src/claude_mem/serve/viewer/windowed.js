// A windowed list: of 100,000 rows only those near the viewport are in the page. All rows have the same height.

import { anew } from "./dom.js";

const PAGE = 100;
const SPARE = 12; // rows above and below the viewport
const AGAIN_MS = 3000; // a page that could not be loaded is requested again while it is visible

export class Windowed {
  // fetchPage(offset, limit, signal, next) -> { items, total, hasMore, next }; draw(item, index) -> an element of the
  // row's height; covered() -> how many pixels at the window's lower edge are covered. Pages are counted from the
  // first one's `next`, so new memories move no row.
  constructor({ fetchPage, draw, onCount, covered, label, signal }) {
    Object.assign(this, { fetchPage, draw, onCount, covered });
    this.inner = document.createElement("div");
    this.inner.className = "rows";
    this.inner.setAttribute("role", "list");
    this.inner.setAttribute("aria-label", label);
    this.element = document.createElement("div");
    this.element.className = "window";
    this.element.append(this.inner);
    this.reset();
    signal.addEventListener("abort", () => this.asking.abort());
    const again = () => this.paint();
    window.addEventListener("scroll", again, { passive: true, signal });
    window.addEventListener(
      "resize",
      () => {
        this.height = 0;
        this.drawn.clear();
        this.inner.replaceChildren();
        again();
      },
      { signal },
    );
  }

  reset() {
    this.asking?.abort();
    this.asking = new AbortController();
    clearTimeout(this.timer);
    this.pages = new Map();
    this.coming = new Map(); // when each page was loaded
    this.drawn = new Map();
    this.next = null;
    this.count = 0;
    this.isWhole = false; // whether the count is exact, or a lower bound
    this.height = 0;
    this.inner.replaceChildren();
  }

  async load() {
    this.reset();
    const asking = this.asking;
    await this.page(0);
    if (asking === this.asking) this.paint();
  }

  item(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  get items() {
    return [...this.pages.entries()].sort(([a], [b]) => a - b).flatMap(([, items]) => items);
  }

  page(number) {
    if (!this.pages.has(number)) {
      this.pages.set(number, []); // requested
      this.coming.set(number, this.ask(number));
    }
    return this.coming.get(number);
  }

  async ask(number) {
    const { asking } = this;
    try {
      const got = await this.fetchPage(number * PAGE, PAGE, asking.signal, this.next);
      if (asking !== this.asking) return;
      if (!number) this.next = got.next;
      this.pages.set(number, got.items);
      const seen = number * PAGE + got.items.length;
      const isEnd = got.total === undefined && !got.hasMore;
      this.isWhole ||= isEnd || got.total !== undefined;
      this.settle(isEnd ? seen : (got.total ?? Math.max(this.count, seen + PAGE)));
      this.paint();
    } catch (error) {
      if (asking === this.asking) this.pages.delete(number);
      if (error.name !== "AbortError") throw error;
    }
  }

  settle(count) {
    this.count = count;
    this.drawn.forEach((row) => row.setAttribute("aria-setsize", this.size));
    this.rowHeight();
    this.inner.style.setProperty("height", `${this.count * this.height}px`);
    this.onCount?.(this.count);
  }

  get size() {
    return this.isWhole ? this.count : -1;
  }

  rowHeight() {
    this.height ||= parseFloat(getComputedStyle(this.inner).getPropertyValue("--row")) || 56;
    return this.height;
  }

  paint() {
    if (!this.count || !this.inner.isConnected) return;
    const height = this.rowHeight();
    this.inner.style.setProperty("height", `${this.count * height}px`);
    const above = -this.inner.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / height) - SPARE);
    const last = Math.min(this.count - 1, Math.ceil((above + window.innerHeight) / height) + SPARE);
    for (const [index, row] of this.drawn) {
      if (index < first || index > last) {
        if (row.contains(document.activeElement)) continue; // scrolling must not lose the focus
        row.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = first; index <= last; index++) this.drawRow(index, height);
    for (let number = Math.floor(first / PAGE); number <= Math.floor(last / PAGE); number++) {
      if (!this.pages.has(number)) this.soon(number);
    }
  }

  // A page is requested once scrolling stops: a flick over 100,000 rows does not request all of them.
  soon(number) {
    const later = () => {
      this.timer = setTimeout(() => this.paint(), AGAIN_MS);
    };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.page(number).catch(later), 60);
  }

  drawRow(index, height) {
    const item = this.item(index),
      old = this.drawn.get(index);
    if (old && old.dataset.of === (item ? "item" : "")) return;
    const row = document.createElement("div");
    row.className = "row";
    row.setAttribute("role", "listitem");
    row.setAttribute("aria-setsize", this.size);
    row.setAttribute("aria-posinset", index + 1);
    row.dataset.index = index;
    row.dataset.of = item ? "item" : "";
    row.style.setProperty("transform", `translateY(${index * height}px)`);
    row.append(item ? this.draw(item, index) : document.createTextNode("…"));
    // In order: screen readers and the Tab key follow the order in the page.
    if (old) old.replaceWith(row);
    else this.inner.insertBefore(row, [...this.inner.children].find((each) => each.dataset.index > index) ?? null);
    this.drawn.set(index, row);
  }

  // A page that is not visible is requested again when it is.
  dropUnseen() {
    const seen = new Set([...this.drawn.keys()].map((index) => Math.floor(index / PAGE)));
    for (const number of this.pages.keys()) if (number && !seen.has(number)) this.pages.delete(number);
  }

  redraw() {
    for (const [index, row] of this.drawn) if (this.item(index)) anew(row, this.draw(this.item(index), index));
    this.paint();
  }

  // Scrolls a row into view.
  async reach(index) {
    if (index < 0 || index >= this.count) return;
    await this.page(Math.floor(index / PAGE));
    if (!this.inner.isConnected) return;
    const height = this.rowHeight(),
      box = this.inner.getBoundingClientRect();
    const top = box.top + index * height,
      head = document.querySelector(".top").offsetHeight,
      end = window.innerHeight - this.covered();
    if (top < head + height) window.scrollBy(0, top - head - height);
    else if (top + 2 * height > end) window.scrollBy(0, top + 2 * height - end);
    this.paint();
  }
}
