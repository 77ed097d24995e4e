// Messages about what was done, with an Undo button.

import { byId, h, successor, toHeading } from "./dom.js";
import { post } from "./api.js";

const STAYS = 12_000;
const UNDOABLE_STAYS = 300_000; // long enough to read, and to decide
const MOST = 3;
const changes = []; // what can be undone, the newest last, even after its message has disappeared
const underway = new Set(); // changes whose answer, with the undo token, has not arrived

// Runs an action that ends with a message.
export async function changing(act) {
  const done = act();
  underway.add(done);
  return await done.finally(() => underway.delete(done));
}

// One button undoes all parts of an action.
export function toast(text, undos = [], after = null) {
  const item = h("div", { class: "toast" }, h("span", null, text)),
    stays = undos.length ? UNDOABLE_STAYS : STAYS;
  if (undos.length) {
    const change = { undos, item, after };
    changes.push(change);
    // The second half of a double click could hit the new message.
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
  // It does not disappear while it has the pointer or the focus.
  const fade = () => setTimeout(() => (item.matches(":hover, :focus-within") ? fade() : item.remove()), stays);
  fade();
}

function remove(item) {
  const hadFocus = item.contains(document.activeElement);
  item.remove();
  if (!hadFocus) return;
  const back = item.from && successor(item.from); // the page may have been redrawn
  back ? back.focus({ preventScroll: true }) : toHeading();
}

// Waits for running changes, so that undo covers what is already shown as done.
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
  if (hadFocus && document.activeElement === document.body) toHeading(); // the element that had it no longer exists
}
