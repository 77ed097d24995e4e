// A button does what it is for when the key or the mouse is let go. Drawn anew in between, it would be another
// one by then, and the press would be lost.

let held, letGo;

function press() {
  held ??= new Promise((done) => (letGo = done));
}

function release() {
  const done = letGo;
  held = letGo = undefined;
  if (done) setTimeout(done); // the click comes first
}

addEventListener("keydown", ({ key }) => key === " " && press(), true);
addEventListener("pointerdown", ({ isPrimary, button }) => isPrimary && button === 0 && press(), true);
for (const name of ["keyup", "pointerup", "pointercancel"]) addEventListener(name, release, true);
addEventListener("pointermove", ({ buttons }) => buttons || release(), { capture: true, passive: true });
addEventListener("blur", release); // of the window: a release elsewhere sends no event

// When nothing is pressed any more.
export const released = () => held;
