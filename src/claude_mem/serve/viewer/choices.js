// Projects to choose from. Two of one name are asked for by their keys, and told apart by as much of these as it takes.

import { h } from "./dom.js";
import { leaf } from "./words.js";

// items: projects as the worker lists them; chosen: what is asked for, also if it is not among them.
export function projectOptions(items, chosen) {
  const kept = items.filter((each) => each.sessions || each.observations); // of the others there is nothing to see
  const known = (kept.length ? kept : items).map((each) => ({
    value: projectId(each, items),
    label: toldApart(each, items),
    title: each.key,
  }));
  if (chosen && !known.some((each) => each.value === chosen)) known.push({ value: chosen, label: leaf(chosen) });
  return known.map(({ value, label, title }) => h("option", { value, title, selected: value === chosen }, label));
}

const namesakes = (project, all) => all.filter((other) => other !== project && other.name === project.name);

export const projectId = (project, all) => (namesakes(project, all).length ? project.key : project.name);

export function toldApart(project, all) {
  const others = namesakes(project, all).map((other) => parts(other.key));
  if (!others.length) return leaf(project.name);
  const ours = parts(project.key);
  const tail = (path, count) => path.slice(-count).join("/");
  const enough = ours.findIndex((_, at) => others.every((other) => tail(other, at + 1) !== tail(ours, at + 1)));
  return enough < 0 ? project.key : tail(ours, enough + 1);
}

const parts = (path) => path.split(/[\\/]/).filter(Boolean);
