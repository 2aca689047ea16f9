// Boot images: what new machines of each machine set boot, why it is so, and what they had before.

import { h } from "./dom.js";
import { badge, command, empty, facts, time } from "./parts.js";
import { change } from "./router.js";
import { table } from "./rows.js";
import { collection, one } from "./store.js";

const last = (path) => path.split("/").at(-1) || "–";
const COLUMNS = [
  { name: "name", title: "Machine set", value: ([, row]) => row.name, cell: ([, row]) => row.name },
  { name: "state", title: "State", value: ([, row]) => row.state, cell: ([, row]) => badge(row.state) },
  { name: "reason", title: "Reason", value: ([, row]) => row.reason, cell: ([, row]) => row.reason || "–" },
  { name: "image", title: "Boots", value: ([, row]) => last(row.image), cell: ([, row]) => h("code", { title: row.image }, last(row.image)) },
  { name: "target", title: "Image of the release", value: ([, row]) => last(row.target), cell: ([, row]) => h("code", { title: row.target }, last(row.target)) },
  { name: "api", title: "API", value: ([, row]) => row.api, cell: ([, row]) => row.api },
];

export function boot({ params }) {
  const rows = [...collection("machineSets")];
  const feature = one("features", "boot");
  return [
    h("h1", null, "Boot images"),
    h("p", null, feature?.sentence ?? ""),
    rows.length ? table({
      id: "boot", label: "Machine sets", columns: COLUMNS, rows, params, keyOf: ([key]) => key,
      open: ([key]) => change({ machineSet: key }, { step: true }), isOpen: ([key]) => params.machineSet === key,
    }) : empty("The controller writes a history of each machine set when the feature gate ManagedBootImages is on.", feature?.command || "lading bootimage plan", "Show what would be patched, or why not"),
  ];
}

export function bootPanel({ params }) {
  if (!params.machineSet) return null;
  const row = one("machineSets", params.machineSet);
  if (!row) return { title: `Machine set ${params.machineSet}`, error: "There is no such machine set.", body: null };
  return { title: `Machine set ${row.name}`, error: "", body: [
    facts(["State", badge(row.state)], ["Reason", row.reason || "–"], ["Namespace", row.namespace || "–"], ["API", row.api]),
    row.message ? h("p", { class: "detail" }, row.message) : null,
    h("h3", null, "Boots"), h("p", { class: "breaks" }, h("code", null, row.image || "–")),
    h("h3", null, "Image of the release"), h("p", { class: "breaks" }, h("code", null, row.target || "–")),
    h("h3", null, "History"),
    row.history.length ? h("ol", { class: "plain" }, row.history.map((item, index) => h("li", { key: String(item.index), class: "breaks" },
      h("strong", null, `${item.index}`), " since ", time(item.since), `, set by ${item.setBy}`,
      h("div", null, h("code", null, item.image), item.stub ? h("span", { class: "quiet" }, ` stub in Secret ${item.stub}`) : null),
      index === 0 ? null : command(item.preview, "Preview of a restore; changes nothing without --confirm")))) : h("p", { class: "quiet" }, "No entry yet."),
  ] };
}
