// The address says what is shown, so that every view, filter and open detail is a link.

export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "overview", params: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function link(view, params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

// Adds to the parameters of the present view; an empty value removes one. A filter that is typed
// makes no steps in the browser's history.
export function change(params, { step = false } = {}) {
  const now = place();
  const next = link(now.view, { ...now.params, ...params });
  if (next === location.hash) return;
  if (step) {
    location.hash = next;
  } else {
    history.replaceState(null, "", next);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }
}
