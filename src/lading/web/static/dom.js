// Makes elements like a description, and changes only what differs: nothing flickers, and focus,
// selection and scroll positions stay. Text of strangers only ever becomes a text node.

const RENDERED = Symbol("rendered");
const PROPERTIES = new Set(["value", "checked", "selected", "hidden"]);

export function h(tag, props, ...children) {
  const kept = children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);
  return { tag, props: props ?? {}, children: kept };
}

// An element that is made anew only when one of the values that it is made of has changed.
export function lazy(key, values, make) {
  return { props: { key }, values, make };
}

export function render(parent, children) {
  const left = new Map((parent[RENDERED] ?? []).map((one) => [one.key, one]));
  if (!parent[RENDERED]) parent.replaceChildren();
  let unkeyed = 0;
  const next = children.map((given) => {
    const key = given.props?.key ?? `${given.tag ?? "#text"} ${unkeyed++}`;
    const found = left.get(key);
    left.delete(key);
    if (given.make && found?.values && same(found.values, given.values)) return found;
    const child = given.make ? given.make() : given;
    if (found && found.tag !== child.tag) found.node.remove();
    const made = found && found.tag === child.tag ? update(found, child) : create(child, key);
    made.values = given.values;
    return made;
  });
  for (const gone of left.values()) gone.node.remove();
  let place = parent.firstChild;
  for (const { node } of next) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  parent[RENDERED] = next;
}

function same(before, now) {
  return before.length === now.length && before.every((value, index) => value === now[index]);
}

function create(child, key) {
  if (child.tag === undefined) {
    return { key, tag: undefined, text: String(child), node: document.createTextNode(String(child)) };
  }
  const made = { key, tag: child.tag, props: {}, node: document.createElement(child.tag) };
  return update(made, child);
}

function update(made, child) {
  if (child.tag === undefined) {
    const text = String(child);
    if (made.text !== text) made.node.data = made.text = text;
    return made;
  }
  const { node } = made;
  render(node, child.children);
  for (const name of Object.keys(made.props)) if (!(name in child.props)) setProp(node, name, null);
  for (const [name, value] of Object.entries(child.props)) {
    if (made.props[name] !== value || name === "value") setProp(node, name, value);
  }
  made.props = child.props;
  return made;
}

function setProp(node, name, value) {
  if (name === "key") return;
  if (name === "style") {
    for (const [property, text] of Object.entries(value ?? {})) node.style.setProperty(property, text);
  } else if (name.startsWith("on")) {
    node[name] = value;
  } else if (PROPERTIES.has(name)) {
    if (node[name] !== value) node[name] = value ?? "";
  } else if (name === "href" && !String(value).startsWith("#")) {
    node.removeAttribute("href"); // links lead to parts of this page only
  } else if (value === null || value === undefined || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : value);
  }
}
