// Draws the view that the address names, and again whenever something has changed.

import { refresh, urlOf } from "./details.js";
import { h, render } from "./dom.js";
import { acceptDrops } from "./dropped.js";
import { measured } from "./measured.js";
import { badge } from "./parts.js";
import { change, link, place } from "./router.js";
import { follow, one, onChange, status } from "./store.js";
import { boot, bootPanel } from "./view-boot.js";
import { images, imagesPanel } from "./view-images.js";
import { overview } from "./view-overview.js";
import { pinPanel, pins } from "./view-pins.js";
import { plan, planPanel } from "./view-plan.js";
import { prepull, prepullPanel } from "./view-prepull.js";
import { nameOf, whyPanel } from "./pruning-walk.js";
import { pruning } from "./view-pruning.js";

const VIEWS = {
  overview: { title: "Overview", draw: overview },
  pins: { title: "Pinned images", draw: pins, panel: pinPanel },
  plan: { title: "Plan of sets", draw: plan, panel: planPanel },
  images: { title: "Images per node", draw: images, panel: imagesPanel },
  prepull: { title: "Pre-pull", draw: prepull, panel: prepullPanel },
  boot: { title: "Boot images", draw: boot, panel: bootPanel },
  pruning: { title: "Pruning", draw: pruning, panel: whyPanel },
};
const SENTENCES = {
  connecting: "Connecting …",
  lost: "Disconnected, retrying. The page shows the last state.",
  expired: "The dashboard was started again. Open the URL that it printed.",
};
const TIMES_MS = 30_000; // relative times grow old
const elements = Object.fromEntries(["header", "banner", "content", "panel"].map((id) => [id, document.getElementById(id)]));
let isScheduled = false;
let opened = "";
let returnTo = null;

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => measured("draw", draw));
}

function draw() {
  isScheduled = false;
  const here = place();
  const view = VIEWS[here.view] ?? VIEWS.overview;
  document.title = `${view.title} · Lading`;
  render(elements.header, header(here.view));
  render(elements.banner, banner());
  if (status.state !== "connecting") {
    render(elements.content, view.draw(here).filter(Boolean));
    drawPanel(view.panel?.(here) ?? null);
  }
  document.body.dataset.state = status.state;
}

function header(current) {
  const cluster = one("cluster", "cluster");
  return [
    h("div", { class: "brand" }, "Lading", cluster?.name ? h("span", { class: "quiet", title: "The cluster" }, cluster.name) : null),
    h("nav", { "aria-label": "Views" }, Object.entries(VIEWS).map(([name, { title }]) =>
      h("a", { key: name, href: link(name), "aria-current": name === current ? "page" : null }, title))),
  ];
}

function banner() {
  const text = SENTENCES[status.state]
    ?? (one("cluster", "cluster")?.connected === false ? "The API server does not answer; retrying. The page shows the last state." : "");
  return text ? [h("p", null, text)] : [];
}

function drawPanel(panel) {
  const title = panel?.title ?? "";
  elements.panel.hidden = !panel;
  document.body.classList.toggle("with-panel", Boolean(panel));
  render(elements.panel, panel ? [
    h("div", { class: "bar" },
      h("h2", { id: "panel-title", tabindex: "-1" }, title),
      h("button", { type: "button", onclick: closePanel, "aria-label": "Close the details" }, "Close")),
    panel.error ? h("p", { class: "detail" }, badge("error", "not shown"), " ", panel.error) : null,
    ...(panel.body ?? (panel.error ? [] : [h("p", { class: "quiet" }, "Loading …")])).flat(Infinity),
  ].filter(Boolean) : []);
  if (title && title !== opened) {
    if (!opened) returnTo = document.activeElement;
    document.getElementById("panel-title").focus();
  }
  if (!title && opened) returnTo?.focus?.();
  opened = title;
}

function closePanel() {
  change({ cell: "", set: "", node: "", image: "", machineSet: "", planned: "", why: "" }, { step: true });
}

// The details that the address names; all others are forgotten when something has changed.
function shownDetails({ view, params }) {
  const at = params.cell?.lastIndexOf("/") ?? -1;
  return new Set([
    params.cell && urlOf("/details/cell", { node: params.cell.slice(0, at), set: params.cell.slice(at + 1) }),
    params.set && urlOf("/details/set", { name: params.set }),
    params.node && urlOf("/details/node", { name: params.node }),
    params.image && urlOf("/details/image", { name: params.image }),
    view === "pruning" && urlOf("/details/contents", {}),
    params.walk !== undefined && urlOf("/details/contents", { repository: nameOf(params.walk) }),
    params.why && urlOf("/details/why", { reference: params.why }),
    view === "pruning" && urlOf("/details/plan", { repository: params.repository ?? "", search: params.search ?? "", offset: params.offset ?? "0" }),
  ].filter(Boolean));
}

onChange((changed) => {
  if (changed.size) refresh(shownDetails(place()));
  schedule();
});
window.addEventListener("hashchange", schedule);
window.addEventListener("redraw", schedule);
window.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && opened) closePanel();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address belongs to the views
  elements.content.focus();
});
acceptDrops(() => {
  location.hash = link("plan");
});
setInterval(schedule, TIMES_MS);
follow();
schedule();
