// The runs of the ImagePruner: when, how they ended, what they freed, and what stayed by reason.

import { h } from "./dom.js";
import { badge, command, conditions, empty, facts, time } from "./parts.js";
import { collection, one } from "./store.js";
import { bytes, number } from "./text.js";

const TONES = { Running: "busy", Succeeded: "ok", Failed: "error", Refused: "warning" };

export function runs() {
  const pruners = [...collection("pruners").values()];
  const absence = one("kinds", "imagepruners.imageregistry.operator.openshift.io");
  if (!pruners.length) {
    return [h("h2", { key: "runs" }, "Runs on a schedule"),
      empty(absence?.sentence || "There is no ImagePruner: nothing is pruned on a schedule.", absence?.command || "lading prune images --help", "By hand; deletes nothing without --confirm")];
  }
  return pruners.map((pruner) => h("section", { key: `pruner ${pruner.name}`, "aria-label": "Runs on a schedule" },
    h("h2", null, "Runs on a schedule"),
    facts(["Schedule, UTC", pruner.schedule || "–"], ["Next", pruner.isSuspended ? badge("warning", "suspended") : time(pruner.nextTime)],
      ["Last success", time(pruner.lastSuccess)], ["Last Job", pruner.lastJob || "–"], ["Last Job ended", time(pruner.lastJobEnd)]),
    pruner.failed ? h("ul", { class: "errors" }, h("li", null, pruner.failed)) : null,
    pruner.runs.length
      ? pruner.runs.map(run)
      : empty("No Job has reported yet.", pruner.isSuspended ? `kubectl patch imagepruner ${pruner.name} --type=merge -p '{"spec":{"suspend":false}}'` : "lading prune images", pruner.isSuspended ? "Resume pruning" : "Show what a run would delete; deletes nothing"),
    h("details", null, h("summary", null, "Conditions"), conditions(pruner.conditions))));
}

function run(one) {
  const kept = Object.entries(one.kept).sort(([, a], [, b]) => b - a);
  return h("article", { key: one.name, class: "card run" },
    h("h3", null, one.name, " ", badge(TONES[one.phase] ?? "empty", one.phase || "unknown")),
    one.message && one.phase !== "Succeeded" ? h("p", { class: "detail" }, one.message) : null, // of a run that succeeded it is the last step
    facts(["Began", time(one.started)], ["Reported", time(one.updated)], ["Took", `${number(one.seconds)} s`], ["To delete", number(one.candidates)], ["Deleted", number(one.deleted)],
      ["Freed", bytes(one.freedBytes)], ["No longer needed", bytes(one.releasedBytes)]),
    kept.length ? h("p", null, "Kept: ", kept.map(([reason, count]) => h("span", { key: reason, class: "badge none" }, `${reason} ${number(count)}`)).flatMap((item) => [item, " "])) : null,
    one.unknownReferences ? [
      h("p", { class: "detail" }, badge("warning", `${number(one.unknownReferences)} not readable`), ` References cannot be read, so what they may name is kept: ${one.unknownObjects.join(", ")}`),
      command("lading prune references", "Show every reference and where it was found")] : null);
}
