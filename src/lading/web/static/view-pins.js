// Pinned images: the matrix with its filters, and the details of a cell, a set and a node.

import { detail } from "./details.js";
import { h } from "./dom.js";
import { matrix } from "./matrix.js";
import { badge, command, conditions, empty, facts, glyph, search, select, time, tone } from "./parts.js";
import { change, link } from "./router.js";
import { collection } from "./store.js";
import { bytes, counted, natural, number } from "./text.js";

const STATES = ["Failed", "Waiting", "Pulling", "Pinned"];
const LACKING_MAX = 100;
const LIVE_MS = 2000; // while a cell is open
const SOURCES = {
  settled: "Figures from the status of the node: nothing is in progress.",
  status: "Figures from the status of the node. Its agent did not answer, or you may not ask it (get on pods/proxy); so the rate and the estimated end are unknown.",
};
const countsOfNodes = new WeakMap();

export function pins({ params }) {
  const sets = [...collection("sets").keys()].sort(natural);
  const nodes = [...collection("nodes")];
  const counts = countStates(nodes);
  const groups = grouped(filtered(nodes, params));
  const open = (what) => change({ node: "", set: "", cell: "", ...what }, { step: true });
  const columns = shownSets(sets, groups, params);
  return [
    h("h1", null, "Pinned images"),
    h("p", { class: "quiet" }, "From the status that nodes write. An open cell also asks the agent of its node."),
    sets.length ? null : empty("There is no PinnedImageSet.", "lading pin create --help", "Create a set from images, manifests or pods"),
    sets.length ? filters(nodes, params, counts) : null,
    sets.length && !groups.length ? empty("No node matches. Clear the search or the filters.") : null,
    sets.length && groups.length ? matrix({
      groups, sets: columns,
      cellOpen: params.cell ?? "",
      openCell: (node, set) => open({ cell: `${node}/${set}` }),
      openSet: (set) => open({ set }),
      openNode: (node) => open({ node }),
    }) : null,
  ];
}

function countStates(nodes) {
  const counts = {};
  for (const [, node] of nodes) for (const [state, count] of Object.entries(statesOf(node))) counts[state] = (counts[state] ?? 0) + count;
  return counts;
}

// A node that did not change is the same object as before, and need not be counted again.
function statesOf(node) {
  if (!countsOfNodes.has(node)) {
    const counts = {};
    for (const [state] of Object.values(node.cells)) counts[state] = (counts[state] ?? 0) + 1;
    countsOfNodes.set(node, counts);
  }
  return countsOfNodes.get(node);
}

function filters(nodes, params, counts) {
  const pools = [...new Set(nodes.map(([, node]) => node.pool))].sort(natural);
  return h("div", { class: "filters" },
    search("Search nodes and sets", params.search ?? "", (text) => change({ search: text })),
    select("Pool", params.pool ?? "", [["", "All pools"], ...pools.map((pool) => [pool || "-", pool || "In no pool"])], (pool) => change({ pool })),
    select("State", params.state ?? "", [["", "All states"], ["open", "Not pinned"], ...STATES.map((state) => [state, state])], (state) => change({ state })),
    h("ul", { class: "legend", "aria-label": "Cells by state" }, STATES.map((state) => h("li", { key: state },
      h("button", { type: "button", "aria-pressed": String(params.state === state), title: `Show only nodes with a set that is ${state}`, onclick: () => change({ state: params.state === state ? "" : state }) },
        h("span", { class: `cell ${tone(state)}`, "aria-hidden": "true" }, glyph(state)), ` ${number(counts[state] ?? 0)} ${state.toLowerCase()}`)))));
}

function matchesState(node, state) {
  const states = Object.keys(statesOf(node));
  return state === "open" ? states.some((one) => one !== "Pinned") : states.includes(state);
}

// A text finds nodes by name; one that is only in names of sets keeps all nodes and those sets.
function filtered(nodes, { search: text = "", pool, state }) {
  const wanted = text.trim().toLowerCase();
  const hasName = wanted && nodes.some(([name]) => name.toLowerCase().includes(wanted));
  return nodes.filter(([name, node]) =>
    (!pool || (node.pool || "-") === pool) && (!state || matchesState(node, state)) &&
    (!wanted || (hasName ? name.toLowerCase().includes(wanted) : shownBySet(node, wanted))));
}

function shownBySet(node, wanted) {
  return Object.keys(node.cells).some((set) => set.toLowerCase().includes(wanted));
}

function shownSets(sets, groups, { search: text = "", state }) {
  const wanted = text.trim().toLowerCase();
  const found = wanted ? sets.filter((set) => set.toLowerCase().includes(wanted)) : [];
  const isNode = wanted && groups.some(({ nodes }) => nodes.some(([name]) => name.toLowerCase().includes(wanted)));
  const kept = found.length && !isNode ? found : sets;
  if (!state) return kept;
  const has = ([one]) => (state === "open" ? one !== "Pinned" : one === state);
  return kept.filter((set) => groups.some(({ nodes }) => nodes.some(([, node]) => node.cells[set] && has(node.cells[set]))));
}

function grouped(nodes) {
  const groups = new Map();
  for (const [name, node] of nodes.sort(([a], [b]) => natural(a, b))) {
    if (!groups.has(node.pool)) groups.set(node.pool, []);
    groups.get(node.pool).push([name, node]);
  }
  return [...groups].sort(([a], [b]) => (a === "") - (b === "") || natural(a, b))
    .map(([pool, found]) => ({ pool, nodes: found, summary: summary(found) }));
}

function summary(nodes) {
  const counts = countStates(nodes);
  const parts = STATES.filter((state) => counts[state]).map((state) => `${number(counts[state])} ${state.toLowerCase()}`);
  return [counted(nodes.length, "node"), ...parts].join(", ");
}

export function pinPanel({ params }) {
  if (params.cell) {
    const at = params.cell.lastIndexOf("/");
    return cellPanel(params.cell.slice(0, at), params.cell.slice(at + 1));
  }
  return params.set ? setPanel(params.set) : params.node ? nodePanel(params.node) : null;
}

function cellPanel(node, set) {
  const { value, error } = detail("/details/cell", { node, set }, { againMs: LIVE_MS });
  return { title: `${set} on ${node}`, error, body: value && [
    facts(
      ["State", badge(value.state)],
      ["Generation", generations(value.generation)],
      ["Images on the node", value.images ? `${value.present} of ${value.images}` : "not reported"],
      ["Still to pull", value.missingBytes ? bytes(value.missingBytes) : value.state === "Pinned" ? "nothing" : "not reported"],
      ...arrival(value),
      ["Pool", value.pool || "none"]),
    h("p", { class: "quiet" }, value.isLive ? "Figures from the agent of the node, now." : SOURCES[value.source]),
    value.detail && !value.errors.some((one) => value.detail.startsWith(one.replace(/\.$/, ""))) ? h("p", { class: "detail" }, value.detail) : null,
    value.errors.length ? h("section", null, h("h3", null, `Errors of generation ${value.failedGeneration}`),
      h("ul", { class: "errors" }, value.errors.map((one, index) => h("li", { key: String(index) }, one)))) : null,
    h("h3", null, "Conditions of the node"), conditions(value.conditions),
    command(`lading pin status ${quoted(set)} --node ${quoted(node)}`, "The same in a terminal"),
    h("p", null, h("a", { href: link("pins", { set }) }, "The whole set"), " · ", h("a", { href: link("images", { node }) }, "All images of the node")),
  ] };
}

// "1/2" of the table of `lading pin status`, in words.
function generations(text) {
  const [pinned, wanted] = text.split("/");
  return `${pinned === "-" ? "none" : pinned} pinned, ${wanted} wanted`;
}

const ofImages = (present, images) => (images ? ` ${number(present)} of ${counted(images, "image")}` : "");

function arrival(value) {
  return [
    value.bytesTotal ? ["Downloaded", `${bytes(value.bytesDone ?? 0)} of ${bytes(value.bytesTotal)}`] : null,
    value.isLive ? ["Rate", value.bytesPerSecond ? `${bytes(value.bytesPerSecond)}/s` : "nothing arrives"] : null,
    value.endsAt ? ["Estimated end", time(value.endsAt)] : null,
    value.nextTry ? ["Next try", [time(value.nextTry), value.attempt ? `, attempt ${value.attempt}` : ""]] : null,
  ].filter(Boolean);
}

function setPanel(name) {
  const { value, error } = detail("/details/set", { name });
  const cells = [...collection("nodes")].filter(([, node]) => node.cells[name]);
  const lacking = cells.filter(([, node]) => node.cells[name][0] !== "Pinned").sort(([a], [b]) => natural(a, b));
  return { title: `Set ${name}`, error, body: value && [
    facts(["Generation", String(value.generation)], ["Created", time(value.created)],
      ["Nodes", cells.length ? `${number(cells.length - lacking.length)} of ${number(cells.length)} hold and pin it` : "none"]),
    h("h3", null, !cells.length ? "It is for no node" : lacking.length ? counted(lacking.length, "node lacks it", "nodes lack it") : "No node lacks it"),
    h("ul", { class: "plain" }, lacking.slice(0, LACKING_MAX).map(([node, { cells: { [name]: [state, present, images] } }]) =>
      h("li", { key: node }, badge(state), " ", h("a", { href: link("pins", { cell: `${node}/${name}` }) }, node), ofImages(present, images)))),
    lacking.length > LACKING_MAX ? h("p", { class: "quiet" }, `and ${number(lacking.length - LACKING_MAX)} more; the filter by state shows them`) : null,
    h("h3", null, counted(value.images.length, "image")),
    h("ul", { class: "plain breaks" }, value.images.map((one) => h("li", { key: one.name }, h("code", null, one.name),
      one.runtimeClasses.length ? h("span", { class: "quiet" }, ` for ${one.runtimeClasses.join(", ")}`) : null))),
    h("h3", null, "Conditions"), conditions(value.conditions),
    command(`lading pin status ${quoted(name)}`, "The same in a terminal"),
  ] };
}

function nodePanel(name) {
  const node = collection("nodes").get(name);
  const cells = Object.entries(node?.cells ?? {}).sort(([a], [b]) => natural(a, b));
  if (!node) return { title: `Node ${name}`, error: `There is no Node ${name}.`, body: null };
  return { title: `Node ${name}`, error: "", body: [
    facts(["Pool", node.pool || "none"], ["Node", badge(node.ready)]),
    h("h3", null, counted(cells.length, "set")),
    h("ul", { class: "plain" }, cells.map(([set, [state, present, images]]) => h("li", { key: set },
      badge(state), " ", h("a", { href: link("pins", { cell: `${name}/${set}` }) }, set), ofImages(present, images)))),
    ...listedImages(name),
    h("p", null, h("a", { href: link("images", { node: name }) }, "What garbage collection would remove")),
  ] };
}

export function listedImages(name) {
  const { value } = detail("/details/node", { name });
  if (!value) return [];
  return [
    h("h3", null, counted(value.images.length, "listed image")),
    h("p", { class: "quiet" }, "As the kubelet lists them in the Node, the largest first; it lists 50 by default."),
    h("ul", { class: "plain breaks" }, value.images.map((one, index) => h("li", { key: one.names[0] ?? String(index) },
      h("code", null, one.names.at(-1) ?? "no name"), ` ${bytes(one.sizeBytes)} `,
      h("span", { class: "quiet" }, one.sets.length ? `in ${counted(one.sets.length, "set")} of this node: ${one.sets.join(", ")}` : "in no set of this node")))),
  ];
}

export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}
