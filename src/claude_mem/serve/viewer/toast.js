// Says what was done, with a way to take it back.

import { byId, h, successor, toHeading } from "./dom.js";
import { post } from "./api.js";

const STAYS = 12_000;
const UNDOABLE_STAYS = 300_000; // who needs longer to read, or to think, has it
const MOST = 3;
const changes = []; // what can be taken back, the newest last, also when its note is gone
const underway = new Set(); // what can be taken back as soon as the worker has said how

// Does what ends with a note of what was changed.
export async function changing(act) {
  const done = act();
  underway.add(done);
  return await done.finally(() => underway.delete(done));
}

// What was done in several parts is taken back by one button.
export function toast(text, undos = [], after = null) {
  const item = h("div", { class: "toast" }, h("span", null, text)),
    stays = undos.length ? UNDOABLE_STAYS : STAYS;
  if (undos.length) {
    const change = { undos, item, after };
    changes.push(change);
    // The second half of a double click meets the note that came to lie there.
    const undo = (event) => event.detail > 1 || takeBack(change);
    item.append(h("button", { class: "undo", onclick: undo }, "Undo"));
  }
  item.append(h("button", { onclick: () => remove(item), "aria-label": "Dismiss" }, "✕"));
  item.addEventListener("focusin", (event) => {
    if (!byId("toasts").contains(event.relatedTarget)) item.from = event.relatedTarget;
  });
  const place = byId("toasts");
  while (place.children.length >= MOST) remove(place.firstChild);
  place.append(item);
  // It does not vanish under somebody's pointer or focus.
  const fade = () => setTimeout(() => (item.matches(":hover, :focus-within") ? fade() : item.remove()), stays);
  fade();
}

function remove(item) {
  const hadFocus = item.contains(document.activeElement);
  item.remove();
  if (!hadFocus) return;
  const back = item.from && successor(item.from); // the page may have been drawn anew
  back ? back.focus({ preventScroll: true }) : toHeading();
}

// What is shown to be done is known to be, however late the worker's answer to who did it.
export async function takeBackLast() {
  await Promise.allSettled(underway);
  const change = changes.findLast(({ undos }) => undos.every(({ until }) => Date.now() < until));
  if (change) await takeBack(change);
}

async function takeBack(change) {
  const { undos, item, after } = change,
    hadFocus = item.contains(document.activeElement);
  changes.splice(changes.indexOf(change), 1);
  remove(item);
  try {
    for (const { token } of undos.toReversed()) await post(`/api/undo/${encodeURIComponent(token)}`, {});
    toast("Undone.");
  } catch (error) {
    toast(error.message);
  }
  await after?.();
  if (hadFocus && document.activeElement === document.body) toHeading(); // what had it before is not there any more
}
