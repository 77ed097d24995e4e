// Finds: results as one types, narrowed, walked through by keyboard, and acted upon many at once.

import { byId, h, isTyping, put } from "../dom.js";
import { get, isAbort, post } from "../api.js";
import { on } from "../stream.js";
import { bind } from "../keys.js";
import { link, memoryLink, rename } from "../router.js";
import { hit } from "../row.js";
import { Windowed } from "../windowed.js";
import { UNDERSTOOD, filters } from "../filters.js";
import { bulk } from "../bulk.js";
import { many, number } from "../words.js";

const MOST_FOUND = 200; // of a search; a list has no end
const LISTS = { observation: "observations", summary: "summaries", prompt: "prompts" };
const NARROWING = [
  "project",
  "kind",
  "type",
  "file",
  "branch",
  "client",
  "session",
  "since",
  "until",
  "wrong",
  "pinned",
];
const left = new Map(); // what was selected and marked at each step of the way, when it was left

export async function show(place, main, signal) {
  let asked = place.query,
    current = -1,
    total = 0;
  const step = history.state?.step,
    before = left.get(step);
  const said = h("p", { class: "meta", role: "status" });
  const narrow = filters(
    () => asked,
    (change) => go({ ...asked, ...change }),
    signal,
  );
  const list = new Windowed({
    label: "Found",
    signal,
    fetchPage,
    draw: (memory, index) =>
      hit(memory, {
        selected: selection.chosen.has(memory.ref),
        current: index === current,
        onselect: (yes) => selection.select(memory.ref, yes),
        onopen: () => {
          current = index;
        },
      }),
    onCount: (count) => {
      total = count;
    },
  });
  const selection = bulk({
    narrowing: () => ({ q: asked.q, ...narrowing() }),
    redraw: () => list.redraw(),
    done: () => load(current),
    signal,
    chosen: before?.chosen,
  });

  put(main, h("h1", { class: "unseen", tabindex: -1 }, "Find"), narrow.element, said, list.element, selection.element);

  function narrowing() {
    return Object.fromEntries(NARROWING.map((name) => [name, asked[name]]).filter(([, value]) => value));
  }

  async function fetchPage(offset, limit, stop, next) {
    if (asked.q?.trim()) {
      const found = await get("/api/search", { q: asked.q, ...narrowing(), offset, limit }, stop);
      return { items: found.results, hasMore: found.hasMore && offset + limit < MOST_FOUND, note: tell(found, offset) };
    }
    const { kind, ...rest } = narrowing(),
      from = next ? { cursor: next, offset: offset - limit } : { offset };
    if (kind === "evidence" || kind === UNDERSTOOD) {
      const found = await get("/api/search", { kind, ...rest, ...from, limit }, stop);
      if (offset === 0)
        said.textContent = found.results.length ? "The newest first" : "Nothing is remembered that fits.";
      return { items: found.results, hasMore: found.hasMore, next: found.next };
    }
    const page = await get(
      `/api/${LISTS[kind] || "observations"}`,
      { ...rest, ...from, limit, count: offset === 0 ? "true" : "" },
      stop,
    );
    const known = page.total ?? (offset ? total : undefined);
    if (offset === 0)
      said.textContent = page.items.length
        ? `${number(known ?? page.items.length)} ${LISTS[kind] || "observations"}, the newest first`
        : "Nothing is remembered that fits.";
    return { items: page.items, total: known ?? undefined, hasMore: page.hasMore, next: page.next };
  }

  function tell(found, offset) {
    if (offset) return;
    const count = found.hasMore ? "The best" : many(found.results.length, "memory", "memories");
    said.textContent = found.results.length
      ? `${count} for “${found.query}”${found.note ? `. ${found.note}` : ""}`
      : `Nothing was found for “${found.query}”. Fewer or other words may help.`;
  }

  async function load(at = -1) {
    document.title = `${asked.q || "Find"} · claude-mem`;
    current = -1;
    list.element.setAttribute("aria-busy", "true");
    try {
      await list.load();
      if (!list.count) put(list.inner);
      else if (at >= 0 && !isTyping(document.activeElement)) await move(at + 1);
    } catch (error) {
      if (isAbort(error)) return;
      put(said, h("span", { class: "wrongly" }, error.message));
    } finally {
      list.element.removeAttribute("aria-busy");
    }
  }

  function go(query) {
    const hash = link("find", "", query);
    rename(hash);
    again({ query: Object.fromEntries(Object.entries(query).filter(([, value]) => value)) });
  }

  let soon = 0;
  function again(next) {
    const typed = next.query.q !== asked.q;
    if (JSON.stringify(next.query) === JSON.stringify(asked)) return;
    asked = next.query;
    if (byId("q").value !== (asked.q || "") && document.activeElement !== byId("q")) byId("q").value = asked.q || "";
    narrow.fill();
    list.asking.abort(); // an answer to what is no longer asked is not waited for
    selection.clear();
    clearTimeout(soon);
    soon = setTimeout(() => load(), typed ? 90 : 0);
  }
  signal.addEventListener("abort", () => {
    clearTimeout(soon);
    left.set(step, { chosen: selection.chosen, current });
  });

  async function move(by) {
    const next = Math.min(total - 1, Math.max(0, current + by));
    if (!total) return;
    current = next;
    const row = await list.reach(next);
    list.redraw();
    const at = list.drawn.get(next)?.querySelector("a.title");
    (at || row?.querySelector("a.title"))?.focus({ preventScroll: true });
  }

  bind(
    {
      j: () => {
        move(1);
      },
      k: () => {
        move(-1);
      },
      x: () => {
        const memory = list.item(current);
        if (!memory) return false;
        selection.select(memory.ref, !selection.chosen.has(memory.ref));
        list.redraw();
        list.drawn.get(current)?.querySelector("a.title")?.focus({ preventScroll: true });
      },
      Enter: (event) => {
        const memory = list.item(current);
        if (!memory || event.target?.closest?.("a, button, summary")) return false;
        location.hash = memoryLink(memory);
      },
      Escape: () => {
        if (!selection.chosen.size) return false;
        selection.reset();
      },
    },
    signal,
  );
  on(
    "changed",
    (event) => {
      if (event.what !== "settings") renew((event.refs || []).map(String));
    },
    signal,
  );

  async function renew(refs) {
    const shown = list.items.filter((memory) => refs.includes(memory.ref)).slice(0, 60);
    if (!shown.length) return;
    const found = await post(
      "/api/observations/batch",
      { ids: shown.map((each) => each.ref), limit: 100 },
      signal,
    ).catch(() => null);
    if (!found) return;
    if (found.missing.length) return load();
    for (const memory of shown)
      Object.assign(
        memory,
        found.results.find((each) => each.ref === memory.ref),
        { snippet: memory.snippet },
      );
    list.redraw();
  }

  again.loaded = load(before?.current); // not waited for: who types on is heard
  return again;
}
