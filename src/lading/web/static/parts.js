// Parts that several views use: commands to copy, times, states, empty states, details.

import { h } from "./dom.js";
import { ago, moment } from "./text.js";

const COPIED_MS = 2000;
const GLYPHS = {
  Pinned: "✓", Pulling: "↓", Failed: "✕", Waiting: "…", NoNodes: "–",
  deployed: "✓", deploying: "↓", error: "✕", unknown: "?",
  Current: "✓", Updating: "↻", Skipped: "–", Manual: "✎", NotEnrolled: "–", Removed: "–",
};
const TONES = {
  Pinned: "good", Pulling: "busy", Failed: "bad", Waiting: "warn", NoNodes: "none",
  deployed: "good", deploying: "busy", error: "bad", unknown: "none",
  Current: "good", Updating: "busy", Skipped: "none", Manual: "warn", NotEnrolled: "none", Removed: "none",
  ok: "good", busy: "busy", unavailable: "warn", empty: "none", warning: "warn", note: "none",
  Ready: "good", NotReady: "bad", Unknown: "none",
};
let copied = "";

export const glyph = (state) => GLYPHS[state] ?? "";
export const tone = (state) => TONES[state] ?? "none";

export function badge(state, text = state) {
  return h("span", { class: `badge ${tone(state)}` }, glyph(state) ? `${glyph(state)} ` : "", text || "–");
}

export function time(text) {
  const date = new Date(text);
  if (!text || Number.isNaN(date.getTime())) return h("span", null, "–");
  return h("time", { datetime: text, title: moment(date) }, ago(date));
}

export function command(text, purpose = "") {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied = text;
    window.dispatchEvent(new Event("redraw"));
    setTimeout(() => {
      copied = "";
      window.dispatchEvent(new Event("redraw"));
    }, COPIED_MS);
  };
  return h("div", { class: "command" },
    purpose ? h("span", { class: "purpose" }, `${purpose}:`) : null,
    h("code", null, text.split(" ").flatMap((word, index) => [index ? " " : null, h("span", { class: "word" }, word)])),
    h("button", { type: "button", onclick: copy, "aria-label": `Copy the command ${text}` },
      copied === text ? "Copied" : "Copy"));
}

export function empty(sentence, text = "", purpose = "") {
  return h("div", { class: "empty" }, h("p", null, sentence), text ? command(text, purpose) : null);
}

export function facts(...pairs) {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) =>
    h("div", { key: name }, h("dt", null, name), h("dd", null, value))));
}

export function conditions(list) {
  if (!list.length) return h("p", { class: "quiet" }, "No conditions.");
  return h("ul", { class: "plain" }, list.map((one) => h("li", { key: one.type },
    h("strong", null, `${one.type}: ${one.status}`), ` (${one.reason}) since `, time(one.since),
    one.message ? h("div", { class: "quiet" }, one.message) : null)));
}

export function search(label, value, onsearch) {
  return h("label", { class: "field" }, h("span", null, label),
    h("input", { type: "search", value, autocomplete: "off", spellcheck: "false", oninput: (event) => onsearch(event.target.value) }));
}

export function select(label, value, options, onselect) {
  return h("label", { class: "field" }, h("span", null, label),
    h("select", { value, onchange: (event) => onselect(event.target.value) },
      options.map(([key, text]) => h("option", { key, value: key, selected: key === value }, text))));
}
