// What is wrong first, each with the command that leads on; then the five features.

import { h } from "./dom.js";
import { badge, command, empty } from "./parts.js";
import { link } from "./router.js";
import { collection } from "./store.js";
import { counted, natural } from "./text.js";

const VIEWS = ["pins", "images", "prepull", "boot", "pruning"];
const WORDS = { ok: "good", busy: "in progress", error: "failed", unavailable: "not available", skipped: "not all updated", empty: "nothing yet" };
const RANKS = ["error", "unavailable", "busy", "skipped", "ok", "empty"];
const NEXT = {
  pins: ["lading pin create --help", "Create a set from images, manifests or pods"],
  images: ["lading image ls", "On a node: list its images by runtime class"],
  prepull: ["lading apply -f IMAGE.yaml", "Hold an image on every worker node"],
  boot: ["lading bootimage plan", "Show what would be patched, or why not"],
  pruning: ["lading prune plan -o plan.jsonl --help", "Write a plan to show here"],
};

export function overview() {
  const problems = [...collection("problems")].sort(([a, x], [b, y]) => x.rank - y.rank || natural(a, b));
  const features = VIEWS.filter((name) => collection("features").has(name))
    .map((name) => [name, collection("features").get(name)])
    .sort(([a, x], [b, y]) => RANKS.indexOf(x.state) - RANKS.indexOf(y.state) || VIEWS.indexOf(a) - VIEWS.indexOf(b));
  return [
    h("h1", null, "Overview"),
    h("section", { "aria-labelledby": "wrong" },
      h("h2", { id: "wrong" }, problems.length ? counted(problems.length, "thing") + " to look at" : "Nothing is wrong"),
      problems.length ? h("ul", { class: "problems" }, problems.map(([key, one]) => problem(key, one))) : null),
    h("section", { "aria-labelledby": "features" },
      h("h2", { id: "features" }, "Features"),
      features.length ? h("ul", { class: "cards" }, features.map(([name, one]) => card(name, one))) : empty("Waiting for the first data.")),
  ];
}

function problem(key, one) {
  return h("li", { key, class: `problem ${one.urgency}` },
    h("h3", null, badge(one.urgency), " ", h("a", { href: one.link }, one.title)),
    h("p", { class: "detail" }, one.detail),
    command(one.command, one.purpose));
}

function card(name, one) {
  const next = one.state === "empty" ? NEXT[name] : one.command ? [one.command, ""] : null;
  return h("li", { key: name, class: "card" },
    h("h3", null, h("a", { href: link(name) }, one.title)),
    badge(one.state, WORDS[one.state]),
    h("p", null, one.sentence),
    next ? command(...next) : null);
}
