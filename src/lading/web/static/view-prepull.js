// Pre-pull: the Images, and the map of worker nodes of the one that is open.

import { detail } from "./details.js";
import { h } from "./dom.js";
import { badge, command, empty, facts, search, time } from "./parts.js";
import { change } from "./router.js";
import { table } from "./rows.js";
import { collection, one } from "./store.js";
import { counted, natural } from "./text.js";
import { quoted } from "./view-pins.js";

const NODES_MAX = 300;
const COLUMNS = [
  { name: "name", title: "Image", value: ([, image]) => image.name, cell: ([, image]) => image.name },
  { name: "state", title: "State", value: ([, image]) => image.state, cell: ([, image]) => badge(image.state) },
  { name: "held", title: "Nodes", isNumber: true, value: ([, image]) => image.held / (image.nodes || 1), cell: ([, image]) => `${image.held} of ${image.nodes}` },
  { name: "reason", title: "Reason", value: ([, image]) => image.reason, cell: ([, image]) => image.reason },
  { name: "url", title: "URL", value: ([, image]) => image.url, cell: ([, image]) => h("code", null, image.url) },
];

export function prepull({ params }) {
  const rows = [...collection("images")];
  const feature = one("features", "prepull");
  return [
    h("h1", null, "Pre-pull"),
    h("p", null, feature?.sentence ?? ""),
    rows.length ? table({
      id: "prepull", label: "Images", columns: COLUMNS, rows, params, keyOf: ([key]) => key,
      open: ([key]) => change({ image: key }, { step: true }), isOpen: ([key]) => params.image === key,
    }) : empty("An Image is pulled to every worker node and held there.", feature?.command || "lading apply -f IMAGE.yaml", "Create one"),
  ];
}

export function prepullPanel({ params }) {
  if (!params.image) return null;
  const { value, error } = detail("/details/image", { name: params.image });
  if (!value) return { title: `Image ${params.image}`, error, body: null };
  const wanted = (params.search ?? "").trim().toLowerCase();
  const nodes = value.map.filter(({ node }) => node.toLowerCase().includes(wanted)).sort((a, b) => a.held - b.held || natural(a.node, b.node));
  return { title: `Image ${value.name}`, error, body: [
    facts(["State", badge(value.state)], ["Namespace", value.namespace], ["Created", time(value.created)], ["Reason", value.reason]),
    h("p", { class: "breaks" }, h("code", null, value.url)),
    h("p", { class: "detail" }, value.message),
    h("h3", null, `${value.held} of ${counted(value.nodes, "worker node")} hold it`),
    search("Search nodes", params.search ?? "", (text) => change({ search: text })),
    h("ul", { class: "plain" }, nodes.slice(0, NODES_MAX).map((item) => h("li", { key: item.node },
      badge(item.held ? "deployed" : item.reason ? "error" : "deploying", item.held ? "held" : item.reason || "not yet"), ` ${item.node}`,
      item.message ? h("div", { class: "detail" }, item.message) : null))),
    nodes.length > NODES_MAX ? h("p", { class: "quiet" }, `and ${nodes.length - NODES_MAX} more; search for one`) : null,
    command(`lading prepull status -n ${quoted(value.namespace)}`, "The same in a terminal"),
  ] };
}
