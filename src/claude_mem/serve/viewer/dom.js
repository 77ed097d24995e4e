// Builds the page from elements and text. There is no other way: the content of memories is only ever text.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "value" || name === "checked" || name === "selected" || name === "disabled") element[name] = value;
  else if (name === "href") {
    if (isOurs(value)) element.setAttribute("href", value);
  } else if (name === "style" || name === "src" || name === "srcdoc" || name === "action")
    throw new TypeError(`${name} is not set here`);
  else element.setAttribute(name, value === true ? "" : String(value));
}

// A link leads to a page of the viewer, or to something that the worker itself serves.
function isOurs(href) {
  return href.startsWith("#") || (href.startsWith("/") && !href.startsWith("//"));
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

// A control with a label above it. Not inside the label: otherwise its value would be part of its name.
export function labelled(text, control) {
  return h("span", { class: "labelled" }, h("label", { for: control.id }, text), control);
}

export function put(parent, ...children) {
  parent.replaceChildren(...nodes(children));
  return parent;
}

// Replaces the content: what is focused or unfolded stays so.
export function anew(place, ...children) {
  const all = () => focusable(place);
  const at = all().indexOf(document.activeElement),
    had = at >= 0 && nameOf(document.activeElement);
  const open = [...place.querySelectorAll("details")].map((each) => each.open);
  put(place, ...children);
  place.querySelectorAll("details").forEach((each, nth) => (each.open = Boolean(open[nth])));
  if (!had) return;
  const same = all().filter((each) => nameOf(each) === had);
  (same.find((each) => each === all()[at]) ?? same[0] ?? all()[at])?.focus({ preventScroll: true });
}

const focusable = (place) => [...place.querySelectorAll("a, button, input, summary, h1")];

// The element that replaced another one, if that was redrawn since.
export const successor = (was) =>
  was.isConnected ? was : focusable(byId("main")).find((each) => nameOf(each) === nameOf(was));

const nameOf = (element) =>
  element.getAttribute("href") ||
  element.getAttribute("aria-keyshortcuts") ||
  (element.tagName === "BUTTON" ? element.textContent : element.tagName);

export const byId = (id) => document.getElementById(id);

export const toHeading = () =>
  (document.querySelector("main h1[tabindex]") || byId("main")).focus({ preventScroll: true });

// Whether the user has scrolled or pressed something since: then the page stays where it is.
export function moving(signal) {
  let has = false;
  const note = () => (has = true);
  for (const name of ["wheel", "touchmove", "pointerdown"])
    window.addEventListener(name, note, { passive: true, signal });
  window.addEventListener("keydown", ({ key }) => (has ||= SCROLLING.includes(key)), { signal });
  return () => has;
}

const SCROLLING = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " ", "j", "k"];

export function isTyping(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox]):not([type=range])"))
  );
}
