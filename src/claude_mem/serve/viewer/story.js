// A session's lines, windowed: of 5,000 only those near the viewport are in the page. Unlike the rows of
// windowed.js each is as high as its content; one that was never drawn is estimated by the first of its kind.

import { anew, h } from "./dom.js";

const WHOLE = 250; // up to this many are all drawn: the browser's own search finds them
const SPARE = 15; // lines above and below the viewport
const JUMP = 30; // lines drawn around one that is far away
const GUESS = { evidence: 29, prompt: 38, observation: 60, summary: 60 }; // until one of its kind is drawn

export class Story {
  // draw(event) -> the content of its line
  constructor({ draw, signal }) {
    Object.assign(this, { draw, lines: [], from: 0, to: 0, now: null });
    this.items = new Map(); // by ref, once drawn: what was unfolded stays so
    this.heights = new Map(); // by ref, and by kind: the first one's
    this.element = h("ol", { class: "feed story", tabindex: -1, "aria-label": "Events, in order" });
    this.element.style.setProperty("overflow-anchor", "none"); // the viewport is kept in place below
    window.addEventListener("scroll", () => this.paint(), { passive: true, signal });
    window.addEventListener(
      "resize",
      () => {
        this.heights.clear();
        this.paint();
      },
      { signal },
    );
  }

  get isWhole() {
    return this.lines.length <= WHOLE;
  }

  // follow: the last of them is scrolled into view.
  show(lines, follow) {
    const last = lines.length - 1,
      isNear = last >= this.from && last <= this.to + JUMP;
    this.lines = lines;
    if (!follow || !lines.length) return this.paint();
    this.sync(isNear ? this.from : last - JUMP, lines.length);
    this.reach(last);
  }

  // The event at the scrubber's position; null: none.
  mark(ref) {
    this.items.get(this.now)?.classList.remove("now");
    this.now = ref;
    this.items.get(ref)?.classList.add("now");
  }

  renew(event) {
    const item = this.items.get(event.ref);
    if (item) anew(item, this.draw(event));
  }

  paint() {
    if (!this.element.isConnected) return;
    this.measure();
    const above = -this.element.getBoundingClientRect().top;
    this.sync(this.at(above) - SPARE, this.at(above + window.innerHeight) + 1 + SPARE);
  }

  // Scrolls a line into view, and returns its element.
  reach(index, block = "nearest") {
    if (index < this.from || index >= this.to) this.sync(index - JUMP, index + JUMP);
    const item = this.items.get(this.lines[index].ref);
    item.scrollIntoView({ block });
    requestAnimationFrame(() => this.paint());
    return item;
  }

  // Home and End. The browser scrolls smoothly, and a line that is higher than estimated would stop it on the way.
  toEdge(isEnd) {
    if (isEnd) this.sync(this.lines.length - JUMP, this.lines.length);
    window.scrollTo(0, isEnd ? document.documentElement.scrollHeight : 0);
    this.paint();
  }

  item(event) {
    const { ref, kind } = event;
    if (!this.items.has(ref))
      this.items.set(
        ref,
        h(
          "li",
          { class: ref === this.now ? `${kind} now` : kind, "data-ref": ref, "data-kind": kind },
          this.draw(event),
        ),
      );
    return this.items.get(ref);
  }

  sync(from, to) {
    const { element, lines } = this,
      { children } = element;
    this.from = this.isWhole ? 0 : Math.min(lines.length, Math.max(0, from));
    this.to = this.isWhole ? lines.length : Math.min(lines.length, Math.max(0, to));
    const wanted = lines.slice(this.from, this.to).map((event) => this.item(event)),
      stays = new Set(wanted),
      still = [...children].find((each) => stays.has(each) && each.getBoundingClientRect().bottom > 0),
      was = still?.getBoundingClientRect().top,
      had = element.contains(document.activeElement);
    for (const each of [...children]) if (!stays.has(each)) each.remove();
    wanted.forEach((each, at) => {
      if (children[at] !== each) element.insertBefore(each, children[at] ?? null);
      if (this.isWhole) return;
      each.setAttribute("aria-posinset", this.from + at + 1);
      each.setAttribute("aria-setsize", lines.length);
    });
    element.style.setProperty("padding-top", `${this.height(0, this.from)}px`);
    element.style.setProperty("padding-bottom", `${this.height(this.to, lines.length)}px`);
    if (had && !element.contains(document.activeElement)) element.focus({ preventScroll: true });
    this.measure();
    const moved = still ? still.getBoundingClientRect().top - was : 0;
    if (moved) window.scrollBy(0, moved);
  }

  measure() {
    const { lastElementChild, children } = this.element;
    for (const each of children) {
      const { ref, kind } = each.dataset;
      if (each === lastElementChild && ref !== this.lines.at(-1)?.ref) continue; // the last one has no border
      const { height } = each.getBoundingClientRect();
      this.heights.set(ref, height);
      if (!this.heights.has(kind)) this.heights.set(kind, height);
    }
  }

  heightOf({ ref, kind }) {
    return this.heights.get(ref) ?? this.heights.get(kind) ?? GUESS[kind];
  }

  height(from, to) {
    let sum = 0;
    for (let at = from; at < to; at++) sum += this.heightOf(this.lines[at]);
    return sum;
  }

  // The line at a position in pixels.
  at(pixels) {
    let at = 0;
    for (let down = 0; at < this.lines.length - 1; at++) {
      down += this.heightOf(this.lines[at]);
      if (down > pixels) break;
    }
    return at;
  }
}
