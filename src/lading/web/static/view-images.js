// Images per node, by runtime class, with what garbage collection would remove and why.

import { detail } from "./details.js";
import { h } from "./dom.js";
import { badge, command, empty, facts, search, time } from "./parts.js";
import { change, link } from "./router.js";
import { table } from "./rows.js";
import { collection, one } from "./store.js";
import { bytes, counted, number } from "./text.js";
import { listedImages } from "./view-pins.js";

const PINNED = "Pinned"; // as the agent says it
const AGAIN_MS = 10_000; // while a node is open
const COLUMNS = [
  { name: "node", title: "Node", value: ([name]) => name, cell: ([name]) => name },
  { name: "pool", title: "Pool", value: ([, node]) => node.pool, cell: ([, node]) => node.pool || "–" },
  { name: "ready", title: "State", value: ([, node]) => node.ready, cell: ([, node]) => badge(node.ready) },
  { name: "images", title: "Listed images", isNumber: true, value: ([, node]) => node.images, cell: ([, node]) => number(node.images) },
  { name: "bytes", title: "Their size", isNumber: true, value: ([, node]) => node.imageBytes, cell: ([, node]) => bytes(node.imageBytes) },
  { name: "sets", title: "Sets", isNumber: true, value: ([, node]) => Object.keys(node.cells).length, cell: ([, node]) => number(Object.keys(node.cells).length) },
];

export function images({ params }) {
  const wanted = (params.search ?? "").trim().toLowerCase();
  const rows = [...collection("nodes")].filter(([name]) => name.toLowerCase().includes(wanted));
  return [
    h("h1", null, "Images per node"),
    h("p", null, one("features", "images")?.sentence ?? ""),
    h("p", { class: "quiet" }, "The table is from the Node objects: the images that the kubelet lists. Open a node for its images by runtime class, and for what garbage collection would remove and why."),
    h("div", { class: "filters" }, search("Search nodes", params.search ?? "", (text) => change({ search: text }))),
    rows.length ? table({
      id: "images", label: "Nodes", columns: COLUMNS, rows, params, keyOf: ([name]) => name,
      open: ([name]) => change({ node: name }, { step: true }), isOpen: ([name]) => params.node === name,
    }) : empty(wanted ? "No node matches." : one("kinds", "nodes")?.sentence || "The cluster has no Node."),
  ];
}

export function imagesPanel({ params }) {
  if (!params.node) return null;
  const name = params.node;
  const node = collection("nodes").get(name);
  const { value, error } = detail("/details/collection", { name }, { isSteady: true, againMs: AGAIN_MS });
  return { title: `Images of ${name}`, error, body: value && [
    node ? facts(["Pool", node.pool || "none"], ["Node", badge(node.ready)], ...disk(value)) : null,
    h("h3", null, "Garbage collection"),
    ...(value.isKnown ? verdicts(value) : [
      h("p", null, "What it would remove is not known here: the agent of the node did not answer, or you may not ask it (get on pods/proxy)."),
      command("lading image gc", "On the node, as root; it deletes nothing without --confirm"),
      ...listedImages(name)]),
    h("p", null, h("a", { href: link("pins", { node: name }) }, "The sets of the node")),
  ] };
}

function disk(value) {
  if (!value.isKnown) return [];
  return [["Disk used", value.usedPercent === null ? "not known" : `${value.usedPercent} %`], ["Seen", time(value.plannedAt)]];
}

function verdicts(value) {
  const shown = value.groups.flatMap((group) => group.images).length;
  return [
    h("p", null, value.goes ? `${counted(value.goes, "image")} would be removed now, which frees ${bytes(value.freedBytes)}.` : "Nothing would be removed now."),
    h("p", { class: "quiet" }, `Images are removed when the disk is ${value.highPercent} % full, the least recently used first, until it is ${value.lowPercent} % full. From the agent of the node.`),
    ...value.groups.map((group) => h("section", { key: group.name, "aria-label": group.name },
      h("h3", null, `${group.name}: ${counted(group.images.length, "image")}`),
      h("ul", { class: "plain breaks" }, group.images.map(verdict)))),
    shown < value.count ? h("p", { class: "quiet" }, `and ${number(value.count - shown)} more`) : null,
    command("lading image gc", "The same on the node, as root; it deletes nothing without --confirm"),
  ].filter(Boolean);
}

// A pin is held by sets; what is not pinned yet may still be wanted by one.
function sets({ reason, sets: names }) {
  if (!names.length) return "";
  return reason === PINNED ? `, by ${names.join(", ")}` : `; in ${counted(names.length, "set")} of this node: ${names.join(", ")}`;
}

function verdict(image) {
  return h("li", { key: image.id },
    h("code", null, image.names[0] ?? image.id), ` ${bytes(image.sizeBytes)}`,
    h("div", null, badge(image.goes ? "error" : "ok", image.goes ? "removed" : "kept"), " ",
      h("span", { class: "quiet" }, `${image.reason}: ${image.message}`, sets(image),
        image.goes ? `; frees ${bytes(image.freesBytes)}` : "")));
}
