// A plan to walk: repository -> tag -> manifest -> blob, with the chain that keeps or deletes each.

import { detail } from "./details.js";
import { h } from "./dom.js";
import { badge, command, empty, facts } from "./parts.js";
import { change, link } from "./router.js";
import { table } from "./rows.js";
import { bytes, counted, number } from "./text.js";
import { quoted } from "./view-pins.js";

const REPOSITORIES = [
  { name: "name", title: "Repository", value: (row) => row.name, cell: (row) => row.name || "(Image objects)" },
  { name: "tags", title: "Tags", isNumber: true, value: (row) => row.tags, cell: (row) => number(row.tags) },
  { name: "goTags", title: "Tags to delete", isNumber: true, value: (row) => row.tagsThatGo, cell: (row) => number(row.tagsThatGo) },
  { name: "manifests", title: "Manifests", isNumber: true, value: (row) => row.manifests, cell: (row) => number(row.manifests) },
  { name: "goManifests", title: "Manifests to delete", isNumber: true, value: (row) => row.manifestsThatGo, cell: (row) => number(row.manifestsThatGo) },
];
const verdict = (row) => badge(row.decision === "delete" ? "error" : "ok", row.decision === "delete" ? "deleted" : "kept");
const VERDICT = [
  { name: "decision", title: "Verdict", value: (row) => row.decision, cell: verdict },
  { name: "reason", title: "Rule", value: (row) => row.reason, cell: (row) => row.reason },
  { name: "message", title: "Because", value: (row) => row.message, cell: (row) => h("span", { title: row.message }, row.message || "–") },
];
const TAGS = [{ name: "tag", title: "Tag", value: (row) => row.name, cell: (row) => row.name }, ...VERDICT];
const MANIFESTS = [{ name: "digest", title: "Manifest", value: (row) => row.digest, cell: (row) => h("code", { title: row.digest }, short(row.digest)) }, ...VERDICT];
const short = (digest) => (digest.length > 27 ? `${digest.slice(0, 19)}…${digest.slice(-6)}` : digest);
const IMAGE_OBJECTS = "-"; // no repository is called so
const placeOf = (row) => row.name || IMAGE_OBJECTS;
export const nameOf = (place) => (place === IMAGE_OBJECTS ? "" : place);

export function walk(params) {
  const { value, error } = detail("/details/contents", {});
  const title = h("h2", { key: "walk" }, "Why each item is kept or deleted");
  if (error) return [title, empty(error, "lading prune why REFERENCE", "In a terminal")];
  if (!value) return [title, h("p", { class: "quiet" }, "Loading the contents …")];
  if (!value.isThere) {
    return [title, empty("This plan has only deletions. A plan of `lading prune images` also has what is kept, and can be opened and searched.", "lading prune images --save-plan plan.jsonl", "Write it again"),
      command("lading prune why REFERENCE", "For one image or digest")];
  }
  const kept = Object.entries(value.kept).sort(([, a], [, b]) => b - a);
  return [
    title,
    h("form", { key: "why", class: "filters", onsubmit: ask },
      h("label", { class: "field" }, h("span", null, "Why? A tag, a digest or a blob"),
        h("input", { type: "search", name: "why", autocomplete: "off", spellcheck: "false", placeholder: "sha256:… or repository:tag" })),
      h("button", { type: "submit" }, "Why")),
    h("p", { key: "kept" }, kept.length ? "Kept by rule: " : "Nothing is kept.", kept.flatMap(([reason, count]) => [h("span", { key: reason, class: "badge none" }, `${reason} ${number(count)}`), " "])),
    table({
      id: "repositories", label: "Repositories", columns: REPOSITORIES, rows: value.repositories, params, keyOf: (row) => row.name, sortParam: "walkSort",
      open: (row) => change({ walk: params.walk === placeOf(row) ? "" : placeOf(row) }, { step: true }), isOpen: (row) => params.walk === placeOf(row),
    }),
    ...(params.walk === undefined ? [] : repository(params)),
  ];
}

function ask(event) {
  event.preventDefault();
  change({ why: new FormData(event.target).get("why").trim() }, { step: true });
}

function repository(params) {
  const { value, error } = detail("/details/contents", { repository: nameOf(params.walk) });
  if (error) return [empty(error)];
  if (!value) return [h("p", { class: "quiet" }, "Loading the repository …")];
  const open = (reference) => change({ why: reference }, { step: true });
  const section = (id, title, count, columns, rows, name, keyOf) => h("section", { key: id, "aria-label": title },
    h("h3", null, `${title} of ${value.name || "the cluster"}`),
    rows.length < count ? h("p", { class: "quiet" }, `The first ${number(rows.length)} of ${number(count)}.`) : null,
    rows.length ? table({ id, label: title, columns, rows, params, keyOf, sortParam: `${id}Sort`, open: (row) => open(name(row)), isOpen: (row) => params.why === name(row) }) : h("p", { class: "quiet" }, "None."));
  return [
    section("tags", "Tags", value.tagCount, TAGS, value.tags, (row) => `${value.name}:${row.name}`, (row) => row.name),
    section("manifests", "Manifests", value.manifestCount, MANIFESTS, value.manifests, (row) => (value.name ? `${value.name}@${row.digest}` : row.digest), (row) => row.digest),
  ];
}

export function whyPanel({ params }) {
  if (!params.why) return null;
  const { value, error } = detail("/details/why", { reference: params.why });
  const title = value ? `Why ${value.kind} ${value.kind === "tag" ? value.reference : short(value.digest)}` : `Why ${params.why}`;
  return { title, error, body: value && [
    h("p", { class: "breaks" }, h("code", null, value.reference)),
    value.sizeBytes ? facts(["Size", bytes(value.sizeBytes)]) : null,
    ...value.verdicts.map((one) => h("div", { key: `verdict ${one.place}`, class: "detail" }, verdict(one), ` ${one.place}`, h("div", { class: "quiet" }, `${one.reason}: ${one.message}`))),
    h("h3", { key: "chains" }, value.chains.length ? `Kept by ${counted(value.chains.length, "chain")}` : "No chain keeps it"),
    ...value.chains.map((steps, index) => h("ol", { key: `chain ${index}`, class: "plain breaks chain" }, steps.map((step, place) =>
      h("li", { key: String(place) }, place ? "← " : "", stepLink(step))))),
    value.kind === "tag" && value.digest ? [h("h3", { key: "names" }, "It points to"), h("p", { key: "digest", class: "breaks" }, digestLink(value.digest))] : null,
    value.parts.length ? [h("h3", { key: "parts" }, counted(value.parts.length, "part")), h("ul", { key: "list", class: "plain breaks" }, value.parts.map((part, index) =>
      h("li", { key: `${part.digest} ${index}` }, `${part.kind} `, digestLink(part.digest), part.sizeBytes ? ` ${bytes(part.sizeBytes)}` : "")))] : null,
    command(`lading prune why ${quoted(value.reference)}`, "The same in a terminal, for the current state of the registry"),
  ] };
}

// A step that is, or ends with, a digest or a tag leads to it.
function stepLink(step) {
  const digest = /(?:^|\s)(sha(?:256|512):[0-9a-f]{64,128})$/.exec(step);
  if (digest) return [step.slice(0, step.length - digest[1].length), digestLink(digest[1])];
  const tag = /^tag (\S+)$/.exec(step);
  return tag ? ["tag ", h("a", { href: whyLink(tag[1]) }, tag[1])] : step;
}

const digestLink = (digest) => h("a", { href: whyLink(digest) }, h("code", null, short(digest)));

function whyLink(reference) {
  const here = new URLSearchParams(location.hash.split("?", 2)[1] ?? "");
  return link("pruning", { ...Object.fromEntries(here), why: reference });
}
