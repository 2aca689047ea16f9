// What sets in files would mean for each node, before they are applied: files of the command line,
// or files that are dropped on the page.

import { detail, reload } from "./details.js";
import { h } from "./dom.js";
import { dropped, forget, planAgain, planFiles } from "./dropped.js";
import { badge, command, empty, facts } from "./parts.js";
import { change } from "./router.js";
import { table } from "./rows.js";
import { bytes, counted, number } from "./text.js";
import { quoted } from "./view-pins.js";

const PATH = "/details/pin-plan";
const size = (count) => (count === null ? "unknown" : bytes(count));
const download = (row) => (!row.isAtLeast ? bytes(row.downloadBytes) : row.downloadBytes ? `${bytes(row.downloadBytes)} or more` : "unknown");
const COLUMNS = [
  { name: "node", title: "Node", value: (row) => row.node, cell: (row) => row.node },
  { name: "fits", title: "Plan", value: (row) => -row.problems.length, cell: (row) => (row.problems.length ? badge("error", "would fail") : badge("ok", "✓ fits")) },
  { name: "added", title: "New images", isNumber: true, value: (row) => row.added, cell: (row) => number(row.added) },
  { name: "before", title: "Wanted before", isNumber: true, value: (row) => row.before, cell: (row) => number(row.before) },
  { name: "pull", title: "To pull", isNumber: true, value: (row) => row.toPull, cell: (row) => number(row.toPull) },
  { name: "download", title: "Download", isNumber: true, value: (row) => row.downloadBytes, cell: download },
  { name: "free", title: "Free now", isNumber: true, value: (row) => row.freeBytes ?? -1, cell: (row) => size(row.freeBytes) },
  { name: "after", title: "Free after", isNumber: true, value: (row) => row.freeAfterBytes ?? -1, cell: (row) => size(row.freeAfterBytes) },
];

export function plan({ params }) {
  const title = h("h1", null, "Plan of sets");
  if (dropped.texts) return [title, ...shownPlan(dropped, params, planAgain, droppedBar())];
  const entry = detail(PATH, {}, { isSteady: true });
  if (entry.value && !entry.value.files.length) return [title, chooser(), empty("Or start the dashboard with files, which are read again each time:", "lading dashboard -f SETS.yaml")];
  return [title, ...shownPlan(entry, params, () => reload(PATH, {}), chooser())];
}

function shownPlan(entry, params, again, bar) {
  const { value, error, isLoading } = entry;
  const button = h("p", { key: "again" }, h("button", { type: "button", onclick: again }, isLoading ? "Planning …" : "Plan again"));
  if (error) {
    return [bar, h("h2", { key: "why" }, "There is no plan"),
      h("ul", { key: "errors", class: "errors" }, error.split("\n").map((text, index) => h("li", { key: String(index) }, text))), button];
  }
  if (!value) return [bar, h("p", { class: "quiet", role: "status" }, "Loading the plan: asking the registries for sizes …")];
  const reasons = grouped(value.nodes);
  return [
    bar,
    h("p", null, `What ${value.files.join(", ")} would do on ${counted(value.nodes.length, "node")}. Nothing is applied.`),
    button,
    ...value.notes.map((text) => h("p", { key: text, class: "quiet" }, text)),
    value.complaints.length
      ? h("ul", { class: "errors" }, value.complaints.map((text) => h("li", { key: text }, text)))
      : h("p", null, badge("ok", "✓ Every image can be pulled, and it fits on every node.")),
    value.nodes.length ? table({
      id: "plan", label: "Nodes", columns: COLUMNS, rows: value.nodes, params, keyOf: (row) => row.node,
      open: (row) => change({ planned: row.node }, { step: true }), isOpen: (row) => params.planned === row.node,
    }) : null,
    reasons.length ? h("section", null, h("h2", null, "Why it would fail"), h("ul", { class: "plain" }, reasons.map(([text, nodes]) =>
      h("li", { key: text }, h("strong", null, nodes.length > 3 ? `${nodes.slice(0, 3).join(", ")} and ${counted(nodes.length - 3, "more node")}` : nodes.join(", ")), `: ${text}`)))) : null,
    command(`lading apply ${value.files.map((file) => `-f ${quoted(file)}`).join(" ")}`, "Apply the files"),
  ].filter(Boolean);
}

export function planPanel({ params }) {
  if (!params.planned) return null;
  const value = dropped.texts ? dropped.value : detail(PATH, {}, { isSteady: true }).value;
  const row = value?.nodes.find(({ node }) => node === params.planned);
  const title = `Plan of ${params.planned}`;
  if (!row) return { title, error: value ? "The plan has no such node." : "", body: null };
  return { title, error: "", body: [
    facts(["Sets", row.sets.join(", ")], ["To pull", number(row.toPull)], ["Download", download(row)],
      ["Free now", size(row.freeBytes)], ["Free after", size(row.freeAfterBytes)]),
    row.problems.length ? h("ul", { class: "errors" }, row.problems.map((text) => h("li", { key: text }, text))) : null,
    h("h3", null, row.toPull ? `${counted(row.toPull, "image")} to pull` : "Every image is on the node"),
    h("ul", { class: "plain breaks" }, row.images.map((one) => h("li", { key: `${one.name} ${one.handler}` }, h("code", null, one.name),
      h("span", { class: "quiet" }, one.handler ? ` for ${one.handler}` : "", one.isAdded ? " new" : " wanted before")))),
    row.toPull > row.images.length ? h("p", { class: "quiet" }, `and ${number(row.toPull - row.images.length)} more`) : null,
  ] };
}

function chooser() {
  return h("div", { key: "chooser", class: "dropzone" },
    h("p", null, "Drop YAML files with PinnedImageSets here, to see what each node would pull and whether it fits. Nothing is applied."),
    h("label", { class: "field" }, h("span", null, "Or choose files"),
      h("input", { type: "file", multiple: true, accept: ".yaml,.yml,.json", onchange: (event) => planFiles(event.target.files) })));
}

function droppedBar() {
  return h("div", { key: "chooser", class: "dropzone" },
    h("p", null, `The plan of ${Object.keys(dropped.texts).join(", ")}. Drop other files to plan those instead.`),
    h("p", null, h("button", { type: "button", onclick: forget }, "Close this plan")));
}

function grouped(nodes) {
  const found = new Map();
  for (const { node, problems } of nodes) for (const text of problems) found.set(text, [...(found.get(text) ?? []), node]);
  return [...found];
}
