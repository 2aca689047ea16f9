// Files that are dropped on the page, or chosen: their texts are sent, planned, and kept here only.

const PATH = "/plans/sets";
export const dropped = { texts: null, value: null, error: "", isLoading: false };

export async function planFiles(files) {
  if (!files.length) return;
  dropped.texts = Object.fromEntries(await Promise.all([...files].map(async (file) => [file.name, await file.text()])));
  dropped.value = null;
  await planAgain();
}

// Files that are dropped meanwhile have the last word.
export async function planAgain() {
  const { texts } = dropped;
  Object.assign(dropped, { isLoading: true, error: "" });
  redraw();
  const found = await planned(texts);
  if (texts !== dropped.texts) return;
  Object.assign(dropped, found, { isLoading: false });
  redraw();
}

async function planned(texts) {
  try {
    const answer = await fetch(PATH, { method: "POST", body: JSON.stringify({ files: texts }), headers: { "Content-Type": "application/json" } });
    return answer.ok ? { value: await answer.json() } : { value: null, error: (await answer.text()).trim() };
  } catch {
    return { error: "The dashboard does not answer." };
  }
}

export function forget() {
  Object.assign(dropped, { texts: null, value: null, error: "" });
  redraw();
}

// Anywhere on the page: without this the browser would leave it and show the file.
export function acceptDrops(show) {
  window.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dragging");
  });
  for (const name of ["dragleave", "drop"]) {
    window.addEventListener(name, (event) => {
      if (name === "drop" || event.relatedTarget === null) document.body.classList.remove("dragging");
    });
  }
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    show();
    planFiles(event.dataTransfer.files);
  });
}

function redraw() {
  window.dispatchEvent(new Event("redraw"));
}
