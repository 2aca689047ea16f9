// Tables: sorted by any column, and only the rows that can be seen are in the page.

import { h } from "./dom.js";
import { change } from "./router.js";
import { natural } from "./text.js";

export const ROW_PIXELS = 34;
const SPARE_ROWS = 8;
const ALL_ROWS_MAX = 80; // a short table scrolls with the page
const positions = new Map(); // scroll container -> {top, height}

// The part of `count` rows that the container shows, and the attributes that keep track of it.
export function visible(id, count) {
  const seen = positions.get(id) ?? { top: 0, height: 900 };
  const first = Math.max(0, Math.min(Math.floor(seen.top / ROW_PIXELS), count) - SPARE_ROWS);
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / ROW_PIXELS) + SPARE_ROWS);
  const onscroll = (event) => {
    positions.set(id, { top: event.target.scrollTop, height: event.target.clientHeight });
    window.dispatchEvent(new Event("redraw"));
  };
  return { first, last, onscroll };
}

export function spacer(key, rows, columns) {
  if (rows <= 0) return null;
  return h("tr", { key, class: "spacer", "aria-hidden": "true" },
    h("td", { colspan: columns, style: { height: `${rows * ROW_PIXELS}px` } }));
}

export function sorted(rows, columns, order, keyOf) {
  const name = order.replace(/^-/, "");
  const column = columns.find((one) => one.name === name) ?? columns[0];
  const sign = order.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => sign * natural(column.value(a), column.value(b)) || natural(keyOf(a), keyOf(b)));
}

// columns: {name, title, value(row) to sort by, cell(row) to show, isNumber}
export function table({ id, label, columns, rows, params, keyOf, open, isOpen, sortParam = "sort" }) {
  const order = params[sortParam] ?? columns[0].name;
  const all = sorted(rows, columns, order, keyOf);
  const isLong = all.length > ALL_ROWS_MAX;
  const { first, last, onscroll } = isLong ? visible(id, all.length) : { first: 0, last: all.length };
  return h("div", { key: id, class: isLong ? "scroll long" : "scroll", onscroll, tabindex: "0", role: "region", "aria-label": label },
    h("table", { "aria-rowcount": all.length + 1 },
      h("thead", null, h("tr", null, columns.map((one) => heading(one, order, sortParam)))),
      h("tbody", null,
        spacer("before", first, columns.length),
        all.slice(first, last).map((row) => h("tr", {
          key: `row ${keyOf(row)}`, class: `${open ? "opens" : ""} ${isOpen?.(row) ? "open" : ""}`,
          onclick: open ? () => open(row) : null,
        }, columns.map((one, index) => h("td", { key: one.name, class: one.isNumber ? "number" : "" },
          index === 0 && open
            ? h("button", { type: "button", class: "link", "aria-expanded": String(Boolean(isOpen?.(row))), onclick: (event) => { event.stopPropagation(); open(row); } }, one.cell(row))
            : one.cell(row))))),
        spacer("after", all.length - last, columns.length))));
}

function heading(column, order, sortParam) {
  const isSorted = order.replace(/^-/, "") === column.name;
  const isDown = order.startsWith("-");
  const next = isSorted && !isDown ? `-${column.name}` : column.name;
  const arrow = h("span", { class: "arrow", "aria-hidden": "true" }, isSorted ? (isDown ? "▼" : "▲") : "");
  return h("th", { key: column.name, scope: "col", class: column.isNumber ? "number" : "", "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : null },
    h("button", { type: "button", class: "sort", onclick: () => change({ [sortParam]: next }) },
      column.isNumber ? [arrow, column.title] : [column.title, arrow]));
}
