// The selected rows of a list, and the actions on all of them.

import { h, put } from "./dom.js";
import { post } from "./api.js";
import { toast } from "./toast.js";
import * as actions from "./actions.js";
import { usual } from "./filters.js";
import { many, number } from "./words.js";

const MOST = 10_000;
const BELOW = 12; // pixels between the bar and the window's lower edge
const MOST_MERGED = 100; // the user chooses which of them stays

// narrowing() returns the current query; redraw() shows what is selected; done() is called after an action.
export function bulk({ narrowing, redraw, done, signal, chosen = new Set() }) {
  const element = h("div", {
    class: "bulk bar",
    role: "group",
    "aria-label": "Actions for the selection",
    hidden: true,
  });

  let asking = new AbortController(), // the request for all that match; a changed query cancels it
    isAsking = false; // an action now would apply to some of them only

  function draw(note = isAsking ? "selecting…" : "") {
    element.hidden = !chosen.size;
    if (!chosen.size) return;
    const refs = [...chosen],
      changeable = refs.filter((ref) => /^\d+$/.test(ref)),
      isWrong = narrowing().wrong === "true",
      acted = new Set(refs);
    // Also called after an undo: what is selected by then is the next selection.
    const after = async () => {
      acted.forEach((ref) => chosen.delete(ref));
      acted.clear();
      draw();
      await done();
    };
    const button = (name, usable, act, kind) =>
      h("button", { class: kind, disabled: isAsking || !usable, onclick: act }, name);
    const had = element.contains(document.activeElement) && document.activeElement.textContent;
    put(
      element,
      h("strong", null, `${many(refs.length, "memory", "memories")} selected`),
      note && h("span", { class: "meta" }, note),
      h("button", { onclick: all }, "Select all matches"),
      button("Pin", changeable.length, () => actions.pin(changeable, true, after)),
      button("Unpin", changeable.length, () => actions.pin(changeable, false, after)),
      button(isWrong ? "Mark right" : "Mark wrong", changeable.length, () =>
        actions.wrong(changeable, !isWrong, after),
      ),
      button("Merge", changeable.length > 1 && changeable.length <= MOST_MERGED, () =>
        actions.merge(changeable, after),
      ),
      button("Forget", true, () => actions.forget(refs, after), "grave"),
      h("button", { class: "plain", onclick: reset }, "Clear"),
      changeable.length < refs.length &&
        h("span", { class: "meta" }, "Only observations can be pinned, marked wrong or merged."),
    );
    const again = had && [...element.querySelectorAll("button")].find((each) => each.textContent === had);
    if (again) again.focus({ preventScroll: true }); // the bar lies over the list, which would be scrolled away from under it
  }

  function clear() {
    asking.abort();
    isAsking = false;
    chosen.clear();
    draw();
  }

  function reset() {
    clear();
    redraw();
  }

  async function all() {
    const asked = narrowing();
    asking.abort();
    asking = new AbortController();
    const stop = AbortSignal.any([signal, asking.signal]);
    // The same rows as listed: a list of one kind includes those marked wrong; a search excludes raw events, which can only be forgotten.
    if (!asked.q?.trim()) asked.kind ||= usual(asked);
    if (asked.kind?.includes(",")) asked.wrong ||= "false";
    for (const name of ["wrong", "pinned"]) if (asked[name]) asked[name] = asked[name] === "true";
    for (const name of ["kind", "type"]) if (asked[name]) asked[name] = asked[name].split(",");
    isAsking = true;
    let found;
    try {
      do {
        draw();
        found = await post("/api/memory/select", { ...asked, cursor: found?.next }, stop);
        found.ids.forEach((ref) => chosen.add(String(ref)));
      } while (found.next && chosen.size < MOST);
    } catch (error) {
      if (stop.aborted) return;
      toast(error.message);
    }
    isAsking = false;
    draw(found?.more ? `the first ${number(chosen.size)}; repeat for the rest` : "");
    redraw();
  }

  // The bar lies over the list: scrolling and toasts keep clear of it (--bulk, in the styles), and what it
  // would cover is scrolled out from under it: the focused row, and the end of a list that was visible.
  const { style } = document.documentElement;
  const room = new ResizeObserver(() => {
    style.setProperty("--bulk", element.hidden ? "0px" : `${element.offsetHeight + BELOW}px`);
    const list = element.previousElementSibling;
    if (element.hidden || !list) return;
    if (list.contains(document.activeElement)) document.activeElement.scrollIntoView({ block: "nearest" });
    const end = list.getBoundingClientRect().bottom,
      under = end - element.getBoundingClientRect().top;
    if (under > 0 && end <= window.innerHeight) window.scrollBy(0, under);
  });
  room.observe(element);
  signal.addEventListener("abort", () => {
    room.disconnect();
    style.removeProperty("--bulk");
  });

  draw();
  return {
    element,
    chosen,
    clear,
    reset,
    select: (ref, yes) => {
      yes ? chosen.add(ref) : chosen.delete(ref);
      draw();
    },
  };
}
