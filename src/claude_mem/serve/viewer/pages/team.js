// Who this machine is in its team, what it shares, what waits and why; and for admins the team itself.

import { anew, h } from "../dom.js";
import { get, isAbort, post } from "../api.js";
import { projectId, distinctName } from "../choices.js";
import { link } from "../router.js";
import { when } from "../row.js";
import { n, table } from "../table.js";
import { toast } from "../toast.js";
import { managed, sure } from "../team_admin.js";
import { date, many, moment, number } from "../words.js";

const SHOWN = 100; // projects, and forgets

export async function show(place, main, signal) {
  document.title = "Team · claude-mem";
  async function load() {
    const sharing = await shared(signal);
    const [team, forgets, projects] = sharing.joined
      ? await Promise.all([
          asked("/api/team", signal),
          asked("/api/sharing/forgets", signal),
          get("/api/projects", { limit: SHOWN }, signal),
        ])
      : [];
    const admin = team && !team.trouble ? await managed(team, signal, reload) : null;
    if (signal.aborted) return;
    anew(main, h("h1", { tabindex: -1 }, "Team"), page({ sharing, team, forgets, projects, admin }, act));
  }
  const reload = () => load().catch((error) => isAbort(error) || toast(error.message));
  // What changes something says what it did, or why it did not.
  async function act(path, body, done) {
    try {
      const answer = await post(path, body);
      toast(typeof done === "function" ? done(answer) : done);
    } catch (error) {
      toast(error.message);
    }
    await reload();
  }
  await load();
}

// A store that several machines open has nothing to join.
async function shared(signal) {
  try {
    return await get("/api/sharing", null, signal);
  } catch (error) {
    if (error.code !== "no_team") throw error;
    return { joined: false, isCommon: true };
  }
}

// What is only known to the server: without it, the rest of the page is there all the same.
async function asked(path, signal) {
  try {
    return await get(path, null, signal);
  } catch (error) {
    if (isAbort(error)) throw error;
    return { trouble: error.message };
  }
}

function page({ sharing, team, forgets, projects, admin }, act) {
  if (sharing.isCommon)
    return h("p", null, "This worker stores its memories in a PostgreSQL database (CLAUDE_MEM_DATABASE_URL), so it cannot join a team.");
  if (!sharing.joined)
    return [
      h(
        "p",
        null,
        "The members of a team share the memories of the projects they choose. " +
          "To join one, get a key for this machine from an admin of the team, then run in a terminal:",
      ),
      h("pre", { class: "text" }, "claude-mem join URL"),
    ];
  return [
    troubles(sharing, team),
    membership(sharing, team, act),
    projectsOf(sharing, projects, act),
    outbox(sharing, act),
    received(sharing),
    unfinished(forgets),
    admin,
  ];
}

function troubles({ stopped, error, failing_since: since }, team) {
  const says = stopped || error || team?.trouble;
  const meanwhile = stopped
    ? "This machine no longer contacts the server."
    : "Memories to be sent wait on this machine. Recording and search continue.";
  return (
    says &&
    h("div", { class: "note warning" }, h("p", null, says, since ? ` Since ${moment(since)}.` : ""), h("p", null, meanwhile))
  );
}

function membership(sharing, team, act) {
  const last = sharing.last_exchange_at;
  const rows = [
    ["Member", [sharing.member, team?.admin && " (admin)"]],
    ["Machine", sharing.machine],
    ["Server", [sharing.url, team?.version && ` (version ${team.version})`]],
    ["Key", [sharing.key, sharing.expires_at && `, until ${date(sharing.expires_at)}`]],
    ["Last exchange", last ? when(last) : "none yet"],
  ];
  return h(
    "section",
    { class: "panel" },
    h("h2", null, "Membership"),
    h(
      "table",
      null,
      h(
        "tbody",
        null,
        rows.map(([name, said]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, said))),
      ),
    ),
    h(
      "div",
      { class: "bar" },
      h(
        "button",
        { onclick: () => act("/api/sharing/exchange", {}, ({ error }) => error || "Synced.") },
        "Sync now",
      ),
    ),
  );
}

function projectsOf(sharing, { items, hasMore }, act) {
  const known = new Map(sharing.projects.map((each) => [each.key, each]));
  const all = [
    ...items.filter((each) => known.has(each.key)),
    ...items.filter((each) => !known.has(each.key) && (each.sessions || each.observations)),
  ];
  const when = sharing.share_when === "merged" ? "when its branch has been merged" : "immediately, whatever its branch";
  return h(
    "section",
    null,
    h("h2", null, "Shared projects"),
    h("p", { class: "soft" }, `The team gets the observations and summaries of shared projects. Each is sent ${when}.`),
    sharing.shares_all && h("p", null, "New projects are shared too."),
    all.length
      ? table(
          "Shared projects",
          ["Project", "Shared", "Prompts", "Memories"],
          all.map((each) => sharedRow(each, known.get(each.key), distinctName(each, items), projectId(each, items), act)),
        )
      : h("p", { class: "empty" }, "No projects yet."),
    hasMore && h("p", { class: "soft" }, `The ${SHOWN} most recently used projects. To share another: claude-mem share PROJECT`),
  );
}

const sharedRow = ({ key }, state, name, id, act) => [
  h("a", { class: "title", href: link("project", id) }, name),
  toggle(`Share ${name}`, Boolean(state), async () => {
    if (state) return act("/api/sharing/unshare", { project: key }, `${name} is no longer shared. What was shared stays with the team.`);
    const says = [
      `Every member of the team who may read ${name} gets all its observations and summaries, including past ones.`,
      "Prompts, tool inputs and tool outputs stay on this machine.",
    ];
    if (await sure(`Share ${name}?`, says, "Share", "main"))
      await act("/api/sharing/share", { project: key }, `${name} is shared.`);
  }),
  state &&
    toggle(`Share the prompts of ${name}`, state.prompts, () =>
      act(
        "/api/sharing/share",
        { project: key, prompts: !state.prompts },
        state.prompts ? `The prompts of ${name} are being deleted from the team.` : `The prompts of ${name} are shared too.`,
      ),
    ),
  state && `${number(state.sent)} sent, ${number(state.waiting)} waiting`,
];

const toggle = (label, on, change) =>
  h(
    "button",
    { type: "button", role: "switch", class: "switch", "aria-checked": String(on), "aria-label": label, onclick: change },
    on ? "on" : "off",
  );

function outbox({ due, waiting, forgets, acknowledgements }, act) {
  const rows = [
    ...(due ? [["next sync", number(due)]] : []),
    ...waiting.map(({ reason, memories }) => [reason, number(memories)]),
  ];
  const rest = [
    forgets && `${many(forgets, "deletion")} to be sent`,
    acknowledgements && `${many(acknowledgements, "deletion")} to be acknowledged`,
  ].filter(Boolean);
  return h(
    "section",
    null,
    h("h2", null, "Waiting to be sent"),
    rows.length
      ? table("Waiting to be sent", ["Reason", n("Memories")], rows)
      : h("p", { class: "empty" }, "Nothing is waiting."),
    rest.length > 0 && h("p", { class: "soft" }, `${rest.join(", ")}.`),
    waiting.length > 0 &&
      h(
        "div",
        { class: "bar" },
        h(
          "button",
          {
            onclick: async () => {
              const says = ["This also sends memories of unmerged branches."];
              if (await sure("Send all waiting memories?", says, "Send", "main"))
                await act("/api/sharing/now", {}, ({ memories }) => `${many(memories, "memory", "memories")} sent.`);
            },
          },
          "Send all now",
        ),
      ),
  );
}

const received = ({ received: some }) =>
  h(
    "section",
    null,
    h("h2", null, "From other members"),
    some.length
      ? table(
          "From other members",
          ["Member", n("Memories here")],
          some.map(({ author, memories }) => [
            h("a", { class: "title", href: link("find", "", { author }) }, author),
            number(memories),
          ]),
        )
      : h("p", { class: "empty" }, "Nothing received yet."),
  );

function left(machine, { consent = [], refused = [] }) {
  if (consent.includes(machine)) return `${machine} (waiting for consent)`;
  return refused.includes(machine) ? `${machine} (refused)` : machine;
}

// Of what was forgotten in the team: what some machine still has.
function unfinished(forgets) {
  if (forgets.trouble) return null; // it is said above
  const some = forgets.items.filter((each) => each.waiting_for.length);
  return h(
    "section",
    null,
    h("h2", null, "Deletions not yet complete"),
    some.length
      ? table(
          "Deletions not yet complete",
          ["What", "Project", "Deleted by", "When", "Still on"],
          some
            .slice(0, SHOWN)
            .map((each) => [each.kind, each.project, each.by, when(each.at), each.waiting_for.map((machine) => left(machine, each)).join(", ")]),
        )
      : h("p", { class: "empty" }, "All deletions are complete on every machine."),
  );
}
