// Images per node, as far as the API knows them.

import { h } from "./dom.js";
import { badge, command, empty, search } from "./parts.js";
import { change } from "./router.js";
import { table } from "./rows.js";
import { collection, one } from "./store.js";
import { bytes, number } from "./text.js";
import { nodePanel } from "./view-pins.js";

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
    h("p", { class: "quiet" }, "From the Node objects: names and sizes that the kubelet lists. Only the node itself knows the runtime class of an image and what garbage collection would take; there, as root:"),
    command("lading image gc", "On the node; it deletes nothing without --yes"),
    h("div", { class: "filters" }, search("Search nodes", params.search ?? "", (text) => change({ search: text }))),
    rows.length ? table({
      id: "images", label: "Nodes", columns: COLUMNS, rows, params, keyOf: ([name]) => name,
      open: ([name]) => change({ node: name }, { step: true }), isOpen: ([name]) => params.node === name,
    }) : empty(wanted ? "No node matches." : one("kinds", "nodes")?.sentence || "The cluster has no Node."),
  ];
}

export function imagesPanel({ params }) {
  return params.node ? nodePanel(params.node) : null;
}
