// What the server sends: collections of view values by key. The server decides, the page draws.

import { measured } from "./measured.js";

const RETRY_MS = 3000;

export const collections = new Map();
export const status = { state: "connecting" };

const listeners = [];
let source = null;

export function onChange(listener) {
  listeners.push(listener);
}

export function collection(name) {
  if (!collections.has(name)) collections.set(name, new Map());
  return collections.get(name);
}

export function one(name, key) {
  return collection(name).get(key);
}

// A browser has few connections to one server: a page that no one sees gives its own back.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) source?.close();
  else follow();
});

export function follow() {
  source?.close();
  source = new EventSource("/events");
  source.addEventListener("snapshot", (event) => measured("take", () => take(JSON.parse(event.data), true)));
  source.addEventListener("delta", (event) => measured("take", () => take(JSON.parse(event.data), false)));
  source.onerror = () => lost();
}

function take({ put, drop }, isWhole) {
  const changed = new Set([...Object.keys(put), ...Object.keys(drop ?? {})]);
  if (isWhole) {
    for (const [name, values] of collections) {
      changed.add(name);
      for (const key of [...values.keys()]) if (!put[name] || !(key in put[name])) values.delete(key);
    }
  }
  for (const [name, values] of Object.entries(put)) {
    const found = collection(name);
    for (const [key, value] of Object.entries(values)) found.set(key, value);
  }
  for (const [name, keys] of Object.entries(drop ?? {})) {
    for (const key of keys) collection(name).delete(key);
  }
  status.state = "live";
  notify(changed);
}

async function lost() {
  status.state = status.state === "expired" ? "expired" : "lost";
  notify(new Set());
  if (source.readyState !== EventSource.CLOSED) return; // it retries by itself
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  try {
    const answer = await fetch("/", { cache: "no-store" });
    status.state = answer.status === 401 ? "expired" : "lost";
  } catch {
    status.state = "lost";
  }
  notify(new Set());
  if (!document.hidden) follow();
}

function notify(changed) {
  for (const listener of listeners) listener(changed);
}
