// Pruning: the last runs, and a plan: what would go, by which rule, and what it frees.

import { detail } from "./details.js";
import { h } from "./dom.js";
import { runs } from "./pruning-runs.js";
import { walk } from "./pruning-walk.js";
import { empty, facts, search, time } from "./parts.js";
import { change } from "./router.js";
import { table } from "./rows.js";
import { bytes, counted, number } from "./text.js";

const PAGE_LINES = 200; // what the server sends at once
const SAVINGS = [
  { name: "name", title: "Name", value: (row) => row.name, cell: (row) => row.name },
  { name: "deletions", title: "Deletions", isNumber: true, value: (row) => row.deletions, cell: (row) => number(row.deletions) },
  { name: "bytes", title: "Frees", isNumber: true, value: (row) => row.sizeBytes, cell: (row) => bytes(row.sizeBytes) },
];
const LINES = [
  { name: "repository", title: "Repository", value: (row) => row.repository, cell: (row) => row.repository || "–" },
  { name: "what", title: "What", value: (row) => row.what, cell: (row) => row.what },
  { name: "tag", title: "Tag or digest", value: (row) => row.tag || row.digest, cell: (row) => h("code", { title: row.digest }, row.tag || row.digest) },
  { name: "bytes", title: "Frees", isNumber: true, value: (row) => row.sizeBytes, cell: (row) => (row.sizeBytes ? bytes(row.sizeBytes) : "–") },
  { name: "reason", title: "Rule", value: (row) => row.reason, cell: (row) => row.reason },
  { name: "because", title: "Because", value: (row) => row.because, cell: (row) => row.because || "–" },
];
let before = null; // stays while the next answer is on its way

export function pruning({ params }) {
  const { value, error } = detail("/details/plan", { repository: params.repository ?? "", search: params.search ?? "", offset: params.offset ?? "0" });
  before = value ?? before;
  return [h("h1", null, "Pruning"), ...runs(), ...plan(before, error, params)];
}

function plan(shown, error, params) {
  const title = h("h2", { key: "plan" }, "Plan");
  if (error) return [title, empty(error, "lading prune images --save-plan plan.jsonl --help", "Write a plan")];
  if (!shown) return [title, h("p", { class: "quiet" }, "Loading the plan …")];
  if (!shown.file) {
    return [title, empty("There is no plan to show. “lading up” shows the plan of the last run of its ImagePruner. Elsewhere, write a plan and start the dashboard with it:",
      "lading prune images --save-plan plan.jsonl && lading dashboard --plan plan.jsonl", "With the options of your registry")];
  }
  const goes = shown.deletions ? [...savings(shown, params), ...lines(shown, params)] : [h("h2", { key: "none" }, "The plan deletes nothing")];
  return [title, ...summary(shown), ...walk(params), ...goes];
}

function summary(plan) {
  return [
    facts(["File", plan.file], ["Registry", plan.registry], ["Planned", time(plan.plannedAt)],
      ["Deletions", number(plan.deletions)], ["Frees", bytes(plan.sizeBytes)], ["References found", number(plan.references)],
      ["Kept, push time unknown", number(plan.keptForUnknownPushTime)]),
  ];
}

function savings(plan, params) {
  const show = (id, title, rows, open, isOpen) => h("section", { key: id, "aria-label": title }, h("h2", null, title),
    rows.length ? table({ id, label: title, columns: SAVINGS, rows, params, keyOf: (row) => row.name, open, isOpen, sortParam: `${id}Sort` }) : h("p", { class: "quiet" }, "None."));
  return [h("div", { class: "beside" },
    show("byRepository", "By repository", plan.byRepository,
      (row) => change({ repository: params.repository === row.name ? "" : row.name, offset: "" }, { step: true }), (row) => params.repository === row.name),
    show("byRule", "By rule", plan.byRule))];
}

function lines(plan, params) {
  const last = plan.offset + plan.lines.length;
  const turn = (offset) => change({ offset: offset || "" }, { step: true });
  return [
    h("h2", null, params.repository ? `Deletions in ${params.repository}` : "Deletions"),
    h("div", { class: "filters" },
      search("Search by name, tag, digest or rule", params.search ?? "", (text) => change({ search: text, offset: "" })),
      params.repository ? h("button", { type: "button", onclick: () => change({ repository: "", offset: "" }, { step: true }) }, "All repositories") : null),
    plan.lines.length ? table({ id: "lines", label: "Deletions", columns: LINES, rows: plan.lines, params, keyOf: (row) => [row.what, row.repository, row.tag, row.digest].join(" ") }) : empty("No deletion matches."),
    h("nav", { class: "pages", "aria-label": "Pages of deletions" },
      plan.offset > 0 ? h("button", { type: "button", onclick: () => turn(plan.offset - PAGE_LINES) }, "Previous") : null,
      plan.matching ? h("span", null, `${number(plan.offset + 1)} to ${number(last)} of ${counted(plan.matching, "deletion")}`) : null,
      last < plan.matching ? h("button", { type: "button", onclick: () => turn(last) }, "Next") : null),
  ];
}
