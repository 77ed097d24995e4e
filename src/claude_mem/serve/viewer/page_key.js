// The page's half of the key. A browser sends the cookie to every port of this machine; what a page stores, only pages of
// the same address and port can read. The link that signs in brings it along, once.

const NAME = "claude-mem-key";
const given = new URLSearchParams(location.search).get("key");

if (given) {
  localStorage.setItem(NAME, given);
  history.replaceState(history.state, "", location.pathname + location.hash);
}

export function keyed() {
  const key = localStorage.getItem(NAME);
  return key ? { "X-Claude-Mem-Key": key } : {};
}
