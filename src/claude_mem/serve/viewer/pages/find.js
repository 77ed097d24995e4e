// Search: results while typing, filters, keyboard navigation, and actions on many memories.

import { byId, h, isTyping, put } from "../dom.js";
import { get, isAbort } from "../api.js";
import { on } from "../stream.js";
import { bind } from "../keys.js";
import { goOn } from "../dialog.js";
import { renewed } from "../renewed.js";
import { go, link, memoryLink, rename } from "../router.js";
import { hit } from "../row.js";
import { Windowed } from "../windowed.js";
import { FILTERS } from "../filter_list.js";
import { filters, usual } from "../filters.js";
import { bulk } from "../bulk.js";
import { many } from "../words.js";

const MOST_FOUND = 200; // of a search; a list has no limit
const LISTS = { observation: "observations", summary: "summaries", prompt: "prompts" }; // of one kind
const NARROWING = FILTERS.map(({ name }) => name);
const left = new Map(); // the selection and the current row at each step of the history, when it was left

export async function show(place, main, signal) {
  let asked = place.query,
    current = -1,
    returning = -1, // the row to return to, once it is listed
    total = 0,
    loading = null,
    severalProjects = false,
    round = 0; // the number of the latest listing
  const step = history.state?.step,
    before = left.get(step);
  const said = h("p", { class: "meta", role: "status" });
  const narrow = filters(
    () => asked,
    (change) => askFor({ ...asked, ...change }),
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
        project: severalProjects,
        more: (session) => link("find", "", { ...asked, session, raw: "true" }),
        onopen: () => {
          current = index;
        },
      }),
    onCount: (count) => {
      total = count;
    },
    covered: () => selection.element.offsetHeight,
  });
  const selection = bulk({
    narrowing: () => ({ q: asked.q, ...narrowing() }),
    redraw: () => list.redraw(),
    done: () => load(position()),
    signal,
    chosen: new Set(before?.chosen),
  });

  put(main, h("h1", { class: "unseen", tabindex: -1 }, "Find"), narrow.element, said, list.element, selection.element);

  function narrowing() {
    return Object.fromEntries(NARROWING.map((name) => [name, asked[name]]).filter(([, value]) => value));
  }

  async function fetchPage(offset, limit, stop, next) {
    if (asked.q?.trim()) {
      const found = await get("/api/search", { q: asked.q, ...narrowing(), offset, limit }, stop);
      if (offset === 0) {
        describe(found);
        severalProjects = new Set(found.results.map((memory) => memory.project)).size > 1;
      }
      const sessions = new Map(found.sessions.map((session) => [session.session_id, session]));
      found.results.forEach((memory, at) => {
        const isFirst = memory.session_id !== found.results[at - 1]?.session_id;
        memory.session_of = isFirst ? sessions.get(memory.session_id) : null;
      });
      return { items: found.results, hasMore: found.hasMore && offset + limit < MOST_FOUND };
    }
    const { kind = usual(asked), ...rest } = narrowing(),
      from = next ? { cursor: next, offset: offset - limit } : { offset };
    if (!LISTS[kind]) {
      const found = await get("/api/search", { kind, ...rest, ...from, limit }, stop);
      if (offset === 0)
        said.textContent = found.results.length ? "Newest first" : "No results.";
      return { items: found.results, hasMore: found.hasMore, next: found.next };
    }
    const page = await get(`/api/${LISTS[kind]}`, { ...rest, ...from, limit, count: offset === 0 ? "true" : "" }, stop);
    const known = page.total ?? (offset ? total : undefined);
    if (offset === 0)
      said.textContent = page.items.length
        ? `${many(known ?? page.items.length, kind, LISTS[kind])}, newest first`
        : "No results.";
    return { items: page.items, total: known ?? undefined, hasMore: page.hasMore, next: page.next };
  }

  function describe(found) {
    const count = found.hasMore ? "Best results" : many(found.results.length, "memory", "memories");
    said.textContent = found.results.length
      ? `${count} for “${found.query}”, best first${found.note ? `. ${found.note}` : ", by words and by meaning"}`
      : `No results for “${found.query}”. Try fewer or different words.`;
  }

  const load = (at) => (loading = listing(at));
  const position = () => Math.max(current, returning); // also while the list is on its way

  async function listing(at = -1) {
    if (signal.aborted) return; // taken back from elsewhere
    const mine = ++round;
    document.title = `${asked.q || "Find"} · claude-mem`;
    current = -1;
    returning = at;
    list.element.setAttribute("aria-busy", "true");
    try {
      await list.load();
      if (mine !== round) return;
      if (!list.count) put(list.inner);
      else if (at >= 0 && !isTyping(document.activeElement)) await move(at + 1);
      returning = -1;
    } catch (error) {
      if (isAbort(error) || mine !== round) return;
      list.settle(0);
      put(said, h("span", { class: "wrongly" }, error.message));
    } finally {
      if (mine === round) list.element.removeAttribute("aria-busy");
    }
  }

  function askFor(query) {
    const hash = link("find", "", query);
    rename(hash);
    again({ query: Object.fromEntries(Object.entries(query).filter(([, value]) => value)) });
  }

  let soon = 0;
  function again(next) {
    const typed = next.query.q !== asked.q;
    if (JSON.stringify(next.query) === JSON.stringify(asked)) return;
    asked = next.query;
    goOn();
    if (byId("q").value !== (asked.q || "") && document.activeElement !== byId("q")) byId("q").value = asked.q || "";
    narrow.fill();
    list.asking.abort(); // an outdated request is cancelled
    selection.clear();
    window.scrollTo(0, 0);
    clearTimeout(soon);
    current = -1;
    loading = new Promise((resolve) => {
      soon = setTimeout(() => resolve(listing()), typed ? 90 : 0);
    });
  }
  signal.addEventListener("abort", () => {
    clearTimeout(soon);
    left.set(step, { chosen: selection.chosen, current: position() });
  });

  async function move(by) {
    const next = Math.min(total - 1, Math.max(0, current + by));
    if (!total) return;
    current = next;
    await list.reach(next).catch(() => {}); // it is requested again
    if (next !== current) return; // somebody went on while it was on its way
    list.redraw();
    list.drawn.get(next)?.querySelector("a.title")?.focus({ preventScroll: true });
  }

  // What is pressed while the list is on its way holds for it.
  const listed = () => loading?.catch(() => {});

  async function open() {
    await listed();
    const memory = list.item(current);
    if (memory && !signal.aborted) go(memoryLink(memory));
  }

  bind(
    {
      j: async () => {
        await listed();
        move(1);
      },
      k: async () => {
        await listed();
        move(-1);
      },
      x: async () => {
        await listed();
        const memory = list.item(current);
        if (!memory) return;
        selection.select(memory.ref, !selection.chosen.has(memory.ref));
        list.redraw();
        list.drawn.get(current)?.querySelector("a.title")?.focus({ preventScroll: true });
      },
      Enter: (event) => {
        if (event.target?.closest?.("a, button, summary")) return false;
        open();
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
      if (event.what === "settings") return;
      if (event.what === "all") list.dropUnseen();
      const refs = new Set((event.refs || []).map(String));
      renew(list.items.filter(({ ref }) => event.what === "all" || refs.has(ref))).catch(() => {}); // there is a next time
    },
    signal,
  );

  async function renew(memories) {
    const refs = memories.map((each) => each.ref);
    for await (const found of renewed(refs, signal)) {
      if (found.missing.length) return without(new Set(found.missing.map(String)));
      const now = new Map(found.results.map((each) => [each.ref, each]));
      memories.forEach((memory) => Object.assign(memory, now.get(memory.ref), { snippet: memory.snippet }));
      list.redraw();
    }
  }

  // Who stands in the list stays with the memory they stand at, or comes to the next.
  function without(gone) {
    let before = 0;
    for (let at = 0; at < current; at++) if (gone.has(list.item(at)?.ref)) before++;
    return load(list.element.contains(document.activeElement) ? current - before : -1);
  }

  again.loaded = load(before?.current); // not waited for: who types on is heard
  return again;
}
