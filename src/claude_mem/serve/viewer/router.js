// Pages and their addresses. A hash is `#/page/rest?query`.

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const at = path.indexOf("/");
  const page = at < 0 ? path : path.slice(0, at);
  const rest = at < 0 ? "" : path.slice(at + 1);
  return { page: page || "home", id: decoded(rest), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand
  }
}

export function link(page, id, query) {
  const said = new URLSearchParams(Object.entries(query || {}).filter(([, value]) => value)).toString();
  return `#/${page}${id === undefined || id === "" ? "" : `/${encodeURIComponent(id)}`}${said && `?${said}`}`;
}

export const memoryLink = (memory) => link("observation", memory.ref);
export const sessionLink = (session, at) => link("session", session, { at });
export const projectLink = (name) => link("project", name);
export const fileLink = (path, project) => link("file", path, { project });

// The browser's event comes later: a key pressed until then would go to the old page.
export function go(hash) {
  if (hash === location.hash) return;
  history.pushState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// Changes the address without leaving the page: typing in the search box is one history step, not twenty.
export function rename(hash) {
  history.replaceState(history.state, "", hash);
}
