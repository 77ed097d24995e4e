// A dialog: what it asks is built by the caller, and focus goes back where it was.

import { h } from "./dom.js";

// make(close) gives what is inside; the promise has what close was given, undefined if it was left.
export function dialog(title, make) {
  return new Promise((resolve) => {
    let answer;
    const close = (value) => {
      answer = value;
      box.close();
    };
    const box = h("dialog", { "aria-labelledby": "dialog-title" }, h("h2", { id: "dialog-title" }, title), make(close));
    box.addEventListener("close", () => {
      box.remove();
      resolve(answer);
    });
    document.body.append(box);
    box.showModal();
  });
}
