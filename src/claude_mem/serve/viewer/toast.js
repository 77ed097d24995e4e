// Says what was done, with a way to take it back.

import { byId, h } from "./dom.js";
import { post } from "./api.js";

const STAYS = 12_000;

// What was done in several parts is taken back by one button.
export function toast(text, undos = [], after = null) {
  const item = h("div", { class: "toast" }, h("span", null, text));
  const gone = () => item.remove();
  if (undos.length) item.append(h("button", { class: "undo", onclick: () => takeBack(undos, item, after) }, "Undo"));
  else item.append(h("button", { onclick: gone, "aria-label": "Dismiss" }, "✕"));
  const place = byId("toasts");
  while (place.children.length > 2) place.firstChild.remove();
  place.append(item);
  // It does not vanish under somebody's pointer or focus.
  let timer = setTimeout(gone, STAYS);
  const hold = () => clearTimeout(timer),
    leave = () => {
      clearTimeout(timer);
      timer = setTimeout(gone, STAYS);
    };
  for (const name of ["pointerenter", "focusin"]) item.addEventListener(name, hold);
  for (const name of ["pointerleave", "focusout"]) item.addEventListener(name, leave);
}

async function takeBack(undos, item, after) {
  item.remove();
  try {
    for (const { token } of undos.toReversed()) await post(`/api/undo/${encodeURIComponent(token)}`, {});
    toast("Undone.");
  } catch (error) {
    toast(error.message);
  }
  after?.();
}
