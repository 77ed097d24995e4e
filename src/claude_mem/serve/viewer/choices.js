// Projects to choose from. Those with the same name are identified by their keys, and labelled with as much of the key as makes them distinct.

import { h } from "./dom.js";
import { leaf } from "./words.js";

// items: projects as the worker lists them; chosen: the selected one, even if it is not among them.
export function projectOptions(items, chosen) {
  const kept = items.filter((each) => each.sessions || each.observations); // the others have nothing to show
  const known = (kept.length ? kept : items).map((each) => ({
    value: projectId(each, items),
    label: distinctName(each, items),
    title: each.key,
  }));
  if (chosen && !known.some((each) => each.value === chosen)) known.push({ value: chosen, label: leaf(chosen) });
  return known.map(({ value, label, title }) => h("option", { value, title, selected: value === chosen }, label));
}

const namesakes = (project, all) => all.filter((other) => other !== project && other.name === project.name);

export const projectId = (project, all) => (namesakes(project, all).length ? project.key : project.name);

export function distinctName(project, all) {
  const others = namesakes(project, all).map((other) => parts(other.key));
  if (!others.length) return leaf(project.name);
  const ours = parts(project.key);
  const tail = (path, count) => path.slice(-count).join("/");
  const enough = ours.findIndex((_, at) => others.every((other) => tail(other, at + 1) !== tail(ours, at + 1)));
  return enough < 0 ? project.key : tail(ours, enough + 1);
}

const parts = (path) => path.split(/[\\/]/).filter(Boolean);
