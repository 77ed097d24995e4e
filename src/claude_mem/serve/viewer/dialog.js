// A dialog: the caller builds its content, and focus returns to where it was. It belongs to its page.

import { h, successor } from "./dom.js";

let moves = 0;
window.addEventListener("hashchange", () => {
  goOn();
  leave();
});

// The page now shows something else, under the same address or another.
export const goOn = () => (moves += 1);

export function leave(which = "dialog[open]") {
  const box = document.querySelector(which);
  if (box) shut(box);
}

// The browser's event comes later, and until then a key would be lost in the dialog that is closing.
function shut(box) {
  box.close();
  box.dispatchEvent(new Event("close"));
}

// make(close, known) returns the content; the promise resolves to what close received, undefined if cancelled.
// first: data to wait for. The dialog does not open if the user has left the page meanwhile, or another is open.
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
