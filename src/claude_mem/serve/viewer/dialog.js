// A dialog: what it asks is built by the caller, and focus goes back where it was. It belongs to its page.

import { h, successor } from "./dom.js";

let moves = 0;
window.addEventListener("hashchange", () => {
  goOn();
  leave();
});

// The page is about something else, under the same address or another.
export const goOn = () => (moves += 1);

export function leave(which = "dialog[open]") {
  const box = document.querySelector(which);
  if (box) shut(box);
}

// The browser tells of it later, and until then a key would be lost on the question that is still underway.
function shut(box) {
  box.close();
  box.dispatchEvent(new Event("close"));
}

// make(close, known) gives what is inside; the promise has what close was given, undefined if it was left.
// first is what has to be known before: who went on elsewhere meanwhile, or was asked already, is not asked.
export async function dialog(title, make, first) {
  const before = moves,
    known = await first;
  if (moves !== before || document.querySelector("dialog[open]")) return undefined;
  return new Promise((resolve) => {
    let answer;
    const from = document.activeElement;
    const close = (value) => {
      answer = value;
      shut(box);
    };
    const over = () => {
      if (!box.isConnected) return;
      box.remove();
      if (document.activeElement === document.body) successor(from)?.focus({ preventScroll: true });
      resolve(answer);
    };
    const box = h(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      h("h2", { id: "dialog-title" }, title),
      make(close, known),
    );
    box.addEventListener("close", over);
    box.addEventListener("cancel", () => shut(box)); // Escape
    document.body.append(box);
    box.showModal();
    box.scrollTop = 0; // it is read from its beginning, wherever the focus is
  });
}
