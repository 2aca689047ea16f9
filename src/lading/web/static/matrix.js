// Nodes x sets as a grid: rows by pool, only those that can be seen are in the page. The arrow keys
// move in it, Enter opens a cell.

import { h, lazy } from "./dom.js";
import { glyph, tone } from "./parts.js";
import { ROW_PIXELS, spacer, visible } from "./rows.js";

const WIDE_SETS_MAX = 6; // few sets have room for words
const at = { row: 0, column: 0 };

// groups: [{pool, nodes: [[name, value]], summary}], sets: [name]
export function matrix({ groups, sets, cellOpen, openCell, openSet, openNode }) {
  const rows = groups.flatMap((group) => [{ group }, ...group.nodes.map(([name, value]) => ({ name, value }))]);
  const { first, last, onscroll } = visible("matrix", rows.length);
  const isWide = sets.length <= WIDE_SETS_MAX;
  at.row = Math.min(at.row, Math.max(0, rows.length - 1));
  at.column = Math.min(at.column, sets.length);
  const shown = { sets, isWide, cellOpen, openCell, openNode };
  const columns = sets.join(" ");
  const focusRow = at.row >= first && at.row < last ? at.row : first;
  return h("div", { key: "matrix", class: "scroll long", onscroll, tabindex: "-1" },
    h("table", {
      id: "matrix", role: "grid", class: isWide ? "matrix wide" : "matrix", "aria-label": "Nodes and sets",
      "aria-rowcount": rows.length + 1, "aria-colcount": sets.length + 1,
      onkeydown: (event) => move(event, rows, sets, { openCell, openNode }),
    },
    h("thead", null, h("tr", { role: "row" },
      h("th", { key: "node", scope: "col", role: "columnheader", class: "corner" }, "Node"),
      sets.map((name) => h("th", { key: `set ${name}`, scope: "col", role: "columnheader" },
        h("button", { type: "button", class: "set", title: name, onclick: () => openSet(name) }, h("span", null, name)))))),
    h("tbody", null,
      spacer("before", first, sets.length + 1),
      rows.slice(first, last).map((row, offset) => lazyRow(row, first + offset, focusRow, columns, shown)),
      spacer("after", rows.length - last, sets.length + 1))));
}

function lazyRow(row, index, focusRow, columns, shown) {
  const key = row.group ? `pool ${row.group.pool}` : `node ${row.name}`;
  const focus = index === focusRow ? at.column : -1;
  const open = shown.cellOpen.startsWith(`${row.name}/`) ? shown.cellOpen : "";
  const values = [row.value, row.group?.summary, index, focus, open, columns];
  return lazy(key, values, () => gridRow(row, index, focusRow, shown));
}

function gridRow(row, index, focusRow, { sets, isWide, cellOpen, openCell, openNode }) {
  if (row.group) {
    return h("tr", { key: `pool ${row.group.pool}`, role: "row", class: "group", "aria-rowindex": index + 2 },
      h("th", { role: "gridcell", colspan: sets.length + 1, ...place(index, 0, focusRow) },
        h("span", { class: "stay" }, row.group.pool ? `Pool ${row.group.pool}` : "In no pool", h("span", { class: "quiet" }, ` · ${row.group.summary}`))));
  }
  return h("tr", { key: `node ${row.name}`, role: "row", "aria-rowindex": index + 2 },
    h("th", { role: "rowheader", scope: "row", class: "node", title: row.name, onclick: () => openNode(row.name), ...place(index, 0, focusRow) },
      row.value.ready === "NotReady" ? h("span", { class: "mark bad", title: "The Node is not ready" }, "! ") : null, row.name),
    sets.map((name, column) => cell(row, name, { isWide, cellOpen, openCell }, place(index, column + 1, focusRow))));
}

function cell(row, name, { isWide, cellOpen, openCell }, attributes) {
  const found = row.value.cells[name];
  if (!found) return h("td", { key: name, role: "gridcell", class: "cell absent", title: `${name} is not for ${row.name}`, "aria-label": `${name} is not for ${row.name}`, ...attributes });
  const [state, present, images] = found;
  const counts = images ? `${present}/${images}` : "";
  return h("td", {
    key: name, role: "gridcell", ...attributes,
    class: `cell ${tone(state)} ${cellOpen === `${row.name}/${name}` ? "open" : ""}`,
    title: `${name} on ${row.name}: ${state} ${counts}`, "aria-label": `${name} on ${row.name}: ${state} ${counts}`,
    onclick: () => openCell(row.name, name),
  }, isWide ? `${glyph(state)} ${state} ${counts}` : glyph(state));
}

function place(row, column, focusRow) {
  const isHere = row === focusRow && column === at.column;
  return { tabindex: isHere ? "0" : "-1", "data-at": `${row},${column}` };
}

function move(event, rows, sets, { openCell, openNode }) {
  const found = event.target.closest("[data-at]");
  if (!found) return;
  [at.row, at.column] = found.dataset.at.split(",").map(Number);
  const page = Math.max(1, Math.floor(event.currentTarget.parentElement.clientHeight / ROW_PIXELS) - 2);
  const steps = {
    ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
    PageDown: [page, 0], PageUp: [-page, 0], Home: [0, -Infinity], End: [0, Infinity],
  };
  if (event.key === "Enter" || event.key === " ") {
    const row = rows[at.row];
    if (row.group) return;
    event.preventDefault();
    const name = sets[at.column - 1];
    if (!name) openNode(row.name);
    else if (row.value.cells[name]) openCell(row.name, name);
  } else if (steps[event.key]) {
    event.preventDefault();
    const limit = (value, most) => Math.min(Math.max(value, 0), most);
    at.row = limit(at.row + steps[event.key][0], rows.length - 1);
    at.column = rows[at.row].group ? 0 : limit(at.column + steps[event.key][1], sets.length);
    focusHere(event.currentTarget.parentElement);
  }
}

// The row may not be in the page yet: scroll there, let it be drawn, then focus it.
function focusHere(container) {
  const top = at.row * ROW_PIXELS;
  const room = container.clientHeight - container.querySelector("thead").offsetHeight - ROW_PIXELS;
  if (top < container.scrollTop) container.scrollTop = top;
  else if (top > container.scrollTop + room) container.scrollTop = top - room;
  container.onscroll({ target: container });
  requestAnimationFrame(() => requestAnimationFrame(() => {
    container.querySelector(`[data-at="${at.row},${at.column}"]`)?.focus({ preventScroll: false });
  }));
}
