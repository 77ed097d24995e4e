// A tool's JSON as a list of fields, even if its end or a part of its middle was cut off.

const MOST = 300, // more than anybody reads
  DEEPEST = 12;
const ESCAPED = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

class Other extends Error {} // it is not JSON
class Over extends Error {} // it ends too early

// [{ name, said }], or null if it is not JSON.
export function fieldsOf(text) {
  const fields = [];
  let at = 0;

  function next(pattern) {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) || [];
    at += found.length;
    return found;
  }
  function peek() {
    next(/\s*/y);
    if (at >= text.length) throw new Over();
    return text[at];
  }
  const skip = (sign) => {
    if (peek() !== sign) throw new Other();
    at += 1;
  };
  function string() {
    skip('"');
    for (let said = ""; ;) {
      said += next(/[^"\\]*/y);
      if (at >= text.length || text[at++] === '"') return said;
      const code = next(/u[0-9a-fA-F]{4}|[^]/y);
      said += code.length > 1 ? String.fromCharCode(parseInt(code.slice(1), 16)) : (ESCAPED[code] ?? code);
    }
  }
  // The items of one list are next to each other.
  function put(name, said, isListed) {
    const last = fields.at(-1);
    if (isListed && last?.name === name) last.said += `\n${said}`;
    else if (fields.push({ name, said }) > MOST) throw new Other();
  }
  function value(name, list, depth) {
    if (depth > DEEPEST) throw new Other();
    const first = peek();
    if (first === "{") return all("}", name, () => member(name, depth));
    if (first === "[") return all("]", name, (nth) => value(`${name}[${nth}]`, name, depth + 1));
    const said = first === '"' ? string() : next(/[-+.\w]+/y) || null;
    if (said === null) throw new Other();
    put(list ?? name, said, list !== undefined);
  }
  function member(name, depth) {
    const key = string();
    skip(":");
    value(name ? `${name}.${key}` : key, undefined, depth + 1);
  }
  function all(end, name, one) {
    const first = text[at++];
    let count = 0;
    for (; peek() !== end; count++) {
      if (count) skip(",");
      one(count);
    }
    at += 1;
    if (!count) put(name, first + end);
  }

  if (!/^\s*[{[]/.test(text)) return null;
  try {
    value("", undefined, 0);
    if (text.slice(at).trim()) return null;
  } catch (error) {
    if (error instanceof Other || !fields.length) return null;
    if (!(error instanceof Over)) throw error;
    fields.at(-1).said += " …";
  }
  return fields;
}
