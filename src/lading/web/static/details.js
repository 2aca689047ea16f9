// What is asked for when something is opened; asked again when what it is about has changed.

const loaded = new Map(); // URL -> {value, error, isLoading, isSteady}
const KEPT_MAX = 20;

// One that is steady costs too much to be asked for again by itself; one with `againMs` is asked for
// again that long after it was drawn last, so only while it is shown.
export function detail(path, params, { isSteady = false, againMs = 0 } = {}) {
  const url = urlOf(path, params);
  if (againMs) again(url, againMs);
  if (!loaded.has(url)) {
    if (loaded.size >= KEPT_MAX) loaded.delete(loaded.keys().next().value);
    loaded.set(url, { value: null, error: "", isLoading: false, isSteady });
    load(url);
  }
  return loaded.get(url);
}

// Those that are shown are loaded again; the others when they are opened.
export function refresh(shown) {
  for (const [url, { isSteady }] of [...loaded]) {
    if (isSteady) continue;
    if (shown.has(url)) load(url);
    else loaded.delete(url);
  }
}

let waiting = "";

function again(url, milliseconds) {
  if (waiting === url) return;
  waiting = url;
  setTimeout(() => {
    if (waiting === url) waiting = "";
    if (loaded.has(url) && !document.hidden) load(url);
  }, milliseconds);
}

export function reload(path, params) {
  load(urlOf(path, params));
  window.dispatchEvent(new Event("redraw"));
}

export const urlOf = (path, params) => `${path}?${new URLSearchParams(params)}`;

async function load(url) {
  const entry = loaded.get(url);
  if (entry.isLoading) return;
  entry.isLoading = true;
  try {
    const answer = await fetch(url);
    if (answer.ok) {
      entry.value = await answer.json();
      entry.error = "";
    } else {
      entry.error = (await answer.text()).trim();
    }
  } catch {
    entry.error = "The dashboard does not answer.";
  }
  entry.isLoading = false;
  window.dispatchEvent(new Event("redraw"));
}
