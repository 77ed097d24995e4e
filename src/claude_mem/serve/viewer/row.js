// A memory in a list: a line of a feed, or a row of a windowed list.

import { h } from "./dom.js";
import { link, memoryLink, projectLink } from "./router.js";
import { agentOf, ago, brief, date, leaf, many, moment, number, time } from "./words.js";

export const TYPES = ["bugfix", "feature", "refactor", "change", "discovery", "decision"];

export const kindOf = ({ kind }) => (kind === "evidence" ? "raw tool use" : kind);

export function chip(memory) {
  const word = memory.type || kindOf(memory);
  return h("span", { class: `chip ${TYPES.includes(word) && memory.kind === "observation" ? word : ""}` }, word);
}

export function marks(memory) {
  return [
    by(memory),
    Boolean(memory.pinned) && h("span", { class: "chip pin" }, "pinned"),
    Boolean(memory.wrong) && h("span", { class: "chip wrong" }, "marked wrong"),
    Boolean(memory.superseded_by) && h("span", { class: "chip mark" }, `replaced by ${memory.superseded_by}`),
    memory.source === "external" &&
      h(
        "span",
        { class: "chip", title: "From text that was only read or imported, not verified. It may not be true." },
        "read, not verified",
      ),
    memory.source === "user" && h("span", { class: "chip" }, memory.author ? "saved on request" : "saved by you"),
    (memory.marks || [])
      .filter((mark) => !(memory.wrong && mark === "marked wrong"))
      .map((mark) => h("span", { class: "chip mark" }, mark)),
  ];
}

// For the memories of another member of the team.
export const by = ({ author }) => Boolean(author) && h("span", { class: "chip by" }, `by ${author}`);

export const when = (epoch, say = ago) =>
  h("time", { class: "when", datetime: new Date(epoch).toISOString(), title: moment(epoch) }, say(epoch));

export const titleOf = (memory) => memory.title || memory.prompt || memory.request || `${memory.kind} ${memory.ref}`;

// A turn is summarized as soon as it ends; until the next prompt the session is idle.
export const standingOf = ({ status }) => (status === "summarizing" ? "between turns" : status);

export const isRunning = (session) => ["initialized", "active", "summarizing"].includes(session.status);

export const isGone = (memory) => Boolean(memory.wrong || memory.superseded_by);

// A line of a feed, as high as its content.
export function line(memory, { project = true, said = true, clock = false } = {}) {
  const about = [
    project && memory.project && h("a", { href: projectLink(memory.project) }, leaf(memory.project)),
    memory.client && memory.client !== "claude-code" && h("span", null, `in ${agentOf(memory.client)}`),
    memory.branch && h("span", null, memory.branch),
    memory.files?.length > 0 && h("span", null, files(memory.files)),
    marks(memory),
  ];
  return h(
    "div",
    { class: `line ${memory.kind}${isGone(memory) ? " gone" : ""}`, "data-ref": memory.ref },
    h("span", null, chip(memory)),
    h("a", { class: "title", href: memoryLink(memory) }, titleOf(memory)),
    when(memory.created_at_epoch, clock ? time : ago),
    said && memory.snippet && h("span", { class: "said" }, memory.snippet),
    h("span", { class: "meta" }, about),
  );
}

// A result's first and second line. A summary shows the sentence that matches, because its title is
// the prompt; a cut title is replaced by its complete sentence.
function headline(memory) {
  const title = titleOf(memory),
    said = memory.snippet || "",
    whole = title.endsWith("…") && said.startsWith(title.slice(0, -1).trimEnd());
  if (said && memory.session_of !== undefined && (memory.kind === "summary" || whole)) return [said, ""];
  return [title, said];
}

// The first row of a session has its date and title; the rows below it belong to the same session.
function sessionOf({ session_of: session, session_id: id }, { project, more }) {
  const hidden = session.more + session.events,
    about = `${many(session.more, "more memory", "more memories")} and ${many(session.events, "tool event")} of this session match`;
  return h(
    "span",
    { class: "aside" },
    when(session.created_at_epoch, date),
    hidden > 0 && h("a", { class: "more", href: more(id), title: about }, ` +${number(hidden)}`),
    h(
      "a",
      { class: "where", href: link("session", id), title: session.title },
      project ? `${leaf(session.project)}: ` : "",
      session.title || brief(id),
    ),
  );
}

// A row of a windowed list: always the same height, with a checkbox.
export function hit(memory, { selected, onselect, onopen, current, project = true, more }) {
  const [title, said] = headline(memory);
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Select ${titleOf(memory).slice(0, 80)}`,
    checked: selected,
    onchange: (event) => onselect(event.target.checked),
  });
  return h(
    "div",
    {
      class: `hit ${memory.kind}${isGone(memory) ? " gone" : ""}${memory.session_of === null ? " same" : ""}`,
      "data-ref": memory.ref,
      "aria-current": current ? "true" : null,
    },
    box,
    h("span", null, chip(memory)),
    h(
      "span",
      { class: "what" },
      h("a", { class: "title", href: memoryLink(memory), onclick: onopen }, title),
      h("span", { class: "said" }, shortMarks(memory), said || files(memory.files || [])),
    ),
    memory.session_of
      ? sessionOf(memory, { project, more })
      : h(
          "span",
          { class: "aside" },
          memory.session_of === undefined && [
            when(memory.created_at_epoch, date),
            h("span", { class: "where" }, leaf(memory.project || "")),
          ],
        ),
  );
}

function shortMarks(memory) {
  const found = marks(memory).flat().filter(Boolean);
  return found.length > 0 && [found.slice(0, memory.author ? 3 : 2).flatMap((mark) => [mark, " "])];
}

export function files(paths) {
  return paths.length > 2
    ? `${paths.slice(0, 2).map(leaf).join(", ")} and ${paths.length - 2} more`
    : paths.map(leaf).join(", ");
}
