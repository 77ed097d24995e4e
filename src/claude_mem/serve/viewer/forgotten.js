// What stands in the place of something that is gone for good.

import { h, put } from "./dom.js";

// Gives what hears of an error: who asks for it again and is told that there is none shows nothing old of it.
export const forgotten = (main, name) => (error) => {
  if (error.status === 404)
    put(main, h("h1", { tabindex: -1 }, "Deleted"), h("p", null, `${name} was permanently deleted.`));
};
