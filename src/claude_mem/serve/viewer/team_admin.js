// What an admin manages: members, keys and who may do what. Asked of the team's server by the worker, with this
// machine's key, which the page never has.

import { h, labelled } from "./dom.js";
import { get, isAbort, post } from "./api.js";
import { dialog } from "./dialog.js";
import { table } from "./table.js";
import { toast } from "./toast.js";
import { date, many } from "./words.js";

const LEVELS = { read: "reads", write: "reads and writes", admin: "administers" };
const SCOPES = { "read,write": "read and write", read: "read", "read,write,admin": "read, write and manage the team" };
const DAYS = 365;

// Nothing for who manages nothing. after: when something was changed.
export async function managed(team, signal, after) {
  const mayManage = team.scopes.includes("admin"),
    isAdmin = team.admin && mayManage,
    own = team.projects.filter((each) => each.level === "admin").map((each) => each.project);
  const [members, keys, grants] = await Promise.all(
    [isAdmin && "members", isAdmin && "keys", "projects"].map((what) => what && listed(what, signal)),
  );
  return [
    isAdmin && membersOf(members, after),
    isAdmin && keysOf(keys, members, after),
    grantsOf(grants, members, mayManage && (isAdmin ? () => true : (key) => own.includes(key)), after),
  ];
}

async function listed(what, signal) {
  try {
    return (await get(`/api/team/${what}`, null, signal)).items;
  } catch (error) {
    if (isAbort(error)) throw error;
    toast(error.message);
    return [];
  }
}

// Whether it was done; why not is said beside the form, or below.
async function changed(path, body, done, after) {
  try {
    const answer = await post(path, body);
    toast(done);
    await after();
    return answer;
  } catch (error) {
    toast(error.message);
    return null;
  }
}

// says: paragraphs; does: the button.
export const sure = (title, says, does, kind = "grave") =>
  dialog(title, (close) => [
    says.map((each) => h("p", null, each)),
    h(
      "div",
      { class: "bar" },
      h("button", { class: kind, onclick: () => close(true) }, does),
      h("button", { autofocus: true, onclick: () => close() }, "Cancel"),
    ),
  ]);

const field = (id, label, attributes) =>
  labelled(label, h("input", { id, name: id, autocomplete: "off", spellcheck: "false", required: true, ...attributes }));

const choice = (id, label, options) =>
  labelled(
    label,
    h(
      "select",
      { id, name: id },
      Object.entries(options).map(([value, said]) => h("option", { value }, said)),
    ),
  );

// send is given what was entered, by the names of the fields.
const form = (label, controls, button, send) =>
  h(
    "form",
    {
      class: "bar entry",
      "aria-label": label,
      onsubmit: (event) => {
        event.preventDefault();
        send(Object.fromEntries(new FormData(event.target)));
      },
    },
    controls,
    h("button", { type: "submit" }, button),
  );

const named = (members) => Object.fromEntries(members.map(({ name }) => [name, name]));

function membersOf(members, after) {
  const remove = async (name) => {
    const says = [`This revokes ${name}'s keys. What ${name} has shared stays with the team.`];
    if (await sure(`Remove ${name}?`, says, "Remove"))
      await changed("/api/team/members/remove", { id: name }, `Removed ${name}.`, after);
  };
  return h(
    "section",
    null,
    h("h2", null, "Members"),
    table(
      "Members",
      ["Member", "Valid keys", "Since", "Change"],
      members.map(({ name, admin, keys, created_at: at }) => [
        [name, admin && " (admin)"],
        many(keys, "key"),
        date(at),
        h("button", { onclick: () => remove(name), "aria-label": `Remove ${name}` }, "Remove"),
      ]),
    ),
    form(
      "Add a member",
      [
        field("new-member", "Name", { maxlength: 64, pattern: "[a-z0-9][a-z0-9._\\-]*", title: "Lowercase letters, digits, dots, hyphens and underscores" }),
        choice("new-member-may", "Role", { "": "member", admin: "admin" }),
      ],
      "Add member",
      ({ "new-member": name, "new-member-may": may }) =>
        changed("/api/team/members", { name, admin: may === "admin" }, `Added ${name}. Next, create a key for ${name}'s machine.`, after),
    ),
  );
}

function keysOf(keys, members, after) {
  const revoke = async ({ id, member, machine }) => {
    const says = [`${member}'s machine ${machine} can then no longer send or receive anything until it gets another key.`];
    if (await sure(`Revoke ${id}?`, says, "Revoke"))
      await changed("/api/team/keys/revoke", { id }, `Revoked ${id}.`, after);
  };
  const add = async (entered) => {
    const body = {
      member: entered["new-key-member"],
      machine: entered["new-key-machine"].trim(),
      scopes: entered["new-key-scopes"].split(","),
      days: Number(entered["new-key-days"]),
    };
    const made = await changed("/api/team/keys", body, `Created a key for ${body.member}.`, after);
    if (made) await dialog(`Key ${made.info.id} for ${made.info.member}`, (close) => shownOnce(made, close));
  };
  return h(
    "section",
    null,
    h("h2", null, "Keys"),
    table(
      "Keys",
      ["Key", "Member", "Machine", "Scopes", "Expires", "Last used", "Change"],
      keys.map((each) => [
        h("span", { class: "mono" }, each.id),
        each.member,
        each.machine,
        SCOPES[each.scopes.join(",")] || each.scopes.join(", "),
        each.revoked_at ? `revoked ${date(each.revoked_at)}` : each.expires_at ? date(each.expires_at) : "never",
        each.last_used_at ? date(each.last_used_at) : "never",
        !each.revoked_at &&
          h("button", { onclick: () => revoke(each), "aria-label": `Revoke ${each.id} of ${each.member}` }, "Revoke"),
      ]),
    ),
    form(
      "Create a key",
      [
        choice("new-key-member", "Member", named(members)),
        field("new-key-machine", "Machine", { maxlength: 64, placeholder: "laptop" }),
        choice("new-key-scopes", "Scopes", SCOPES),
        field("new-key-days", "Expires after days", { type: "number", min: 1, max: 3660, value: DAYS }),
      ],
      "Create key",
      add,
    ),
  );
}

// Nowhere else: with the dialog it is gone from the page.
const shownOnce = ({ key, info }, close) => [
  h("p", null, `This key is shown only once. Give it to ${info.member}, to run claude-mem join on ${info.machine} and paste it there.`),
  h("pre", { class: "text", tabindex: 0 }, key),
  h(
    "div",
    { class: "bar" },
    h(
      "button",
      {
        class: "main",
        onclick: async () => {
          await navigator.clipboard.writeText(key).then(
            () => toast("Copied."),
            () => toast("The browser did not allow it. Select the key and copy it."),
          );
        },
      },
      "Copy",
    ),
    h("button", { onclick: () => close() }, "Close"),
  ),
];

function grantsOf(grants, members, mayGrant, after) {
  const give = (project, member, level) =>
    changed(
      "/api/team/projects",
      { project, member, level },
      level === "none" ? `${member} no longer has access to ${project}.` : `${member} ${LEVELS[level]} ${project}.`,
      after,
    );
  const keys = [...new Set(grants.map(({ project }) => project))].filter((key) => mayGrant && mayGrant(key));
  const level = ({ project, member, level: has }) =>
    mayGrant && mayGrant(project)
      ? h(
          "select",
          { "aria-label": `Access of ${member} to ${project}`, onchange: (event) => give(project, member, event.target.value) },
          Object.entries({ ...LEVELS, none: "has no access" }).map(([value, said]) =>
            h("option", { value, selected: value === has }, said),
          ),
        )
      : LEVELS[has];
  return h(
    "section",
    null,
    h("h2", null, "Access to projects"),
    grants.length
      ? table(
          "Access to projects",
          ["Project", "Member", "Access"],
          grants.map((each) => [h("span", { title: each.project }, each.name), each.member, level(each)]),
        )
      : h("p", { class: "empty" }, "No project has been shared yet."),
    keys.length > 0 &&
      form(
        "Give access",
        [
          choice("grant-project", "Project", Object.fromEntries(keys.map((key) => [key, key]))),
          members ? choice("grant-member", "Member", named(members)) : field("grant-member", "Member", { maxlength: 64 }),
          choice("grant-level", "Access", LEVELS),
        ],
        "Give access",
        (entered) => give(entered["grant-project"], entered["grant-member"], entered["grant-level"]),
      ),
  );
}
