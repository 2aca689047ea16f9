// What sets in files would mean for each node, before they are applied.

import { detail, reload } from "./details.js";
import { h } from "./dom.js";
import { badge, command, empty } from "./parts.js";
import { table } from "./rows.js";
import { bytes, counted, number } from "./text.js";
import { quoted } from "./view-pins.js";

const PATH = "/details/pin-plan";
const size = (count) => (count === null ? "unknown" : bytes(count));
const COLUMNS = [
  { name: "node", title: "Node", value: (row) => row.node, cell: (row) => row.node },
  { name: "fits", title: "Plan", value: (row) => -row.problems.length, cell: (row) => (row.problems.length ? badge("error", "does not hold") : badge("ok", "✓ holds")) },
  { name: "added", title: "Added", isNumber: true, value: (row) => row.added, cell: (row) => number(row.added) },
  { name: "before", title: "Before", isNumber: true, value: (row) => row.before, cell: (row) => number(row.before) },
  { name: "pull", title: "To pull", isNumber: true, value: (row) => row.toPull, cell: (row) => number(row.toPull) },
  { name: "download", title: "Download", isNumber: true, value: (row) => row.downloadBytes, cell: (row) => bytes(row.downloadBytes) + (row.isAtLeast ? " or more" : "") },
  { name: "free", title: "Free now", isNumber: true, value: (row) => row.freeBytes ?? -1, cell: (row) => size(row.freeBytes) },
  { name: "after", title: "Free after", isNumber: true, value: (row) => row.freeAfterBytes ?? -1, cell: (row) => size(row.freeAfterBytes) },
];

export function plan({ params }) {
  const entry = detail(PATH, {}, { isSteady: true });
  const { value, error } = entry;
  const title = h("h1", null, "Plan of sets");
  if (error) return [title, empty(error), again(entry)];
  if (!value) return [title, h("p", { class: "quiet" }, "Loading the plan: the registries are asked for sizes …")];
  if (!value.files.length) {
    return [title, empty("See what each node would pull, and whether it fits, before a set is applied:", "lading dashboard -f SETS.yaml", "Start the dashboard with files")];
  }
  const reasons = grouped(value.nodes);
  return [
    title,
    h("p", null, `What ${value.files.join(", ")} would mean for ${counted(value.nodes.length, "node")}. Nothing is applied.`),
    again(entry),
    value.complaints.length
      ? h("ul", { class: "errors" }, value.complaints.map((text) => h("li", { key: text }, text)))
      : h("p", null, badge("ok", "✓ Every image can be pulled, and it fits on every node.")),
    value.nodes.length ? table({ id: "plan", label: "Nodes", columns: COLUMNS, rows: value.nodes, params, keyOf: (row) => row.node }) : null,
    reasons.length ? h("section", null, h("h2", null, "Why it does not hold"), h("ul", { class: "plain" }, reasons.map(([text, nodes]) =>
      h("li", { key: text }, h("strong", null, nodes.length > 3 ? `${nodes.slice(0, 3).join(", ")} and ${counted(nodes.length - 3, "more node")}` : nodes.join(", ")), `: ${text}`)))) : null,
    command(`lading apply ${value.files.map((file) => `-f ${quoted(file)}`).join(" ")}`, "To apply it"),
  ].filter(Boolean);
}

function again(entry) {
  return h("p", null, h("button", { type: "button", onclick: () => reload(PATH, {}) }, entry.isLoading ? "Planning …" : "Plan again"));
}

function grouped(nodes) {
  const found = new Map();
  for (const { node, problems } of nodes) for (const text of problems) found.set(text, [...(found.get(text) ?? []), node]);
  return [...found];
}
