// The page of something that was permanently deleted.

import { h, put } from "./dom.js";

// Returns an error handler: when a reload gets 404, nothing old stays on the page.
export const forgotten = (main, name) => (error) => {
  if (error.status === 404)
    put(main, h("h1", { tabindex: -1 }, "Deleted"), h("p", null, `${name} was permanently deleted.`));
};
