// Make elements. Texts become text nodes, never markup: what is shown comes from manifests that anybody wrote.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** What does not show, or reorders what does, but for line ends. */
export const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/gu;

/** Group a value under a key of a Map of lists. */
export function gather(map, key, value) {
  const held = map.get(key);
  if (held) held.push(value);
  else map.set(key, [value]);
}

export const $ = (id) => document.getElementById(id);

/** Write a number with its noun: `1 pod`, `2,000 pods`. */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Write the size of a text: `2.1 MB`. */
export function megabytes(text) {
  return `${(text.length / 1e6).toFixed(1)} MB`;
}

/** Say something to screen readers without moving the focus. */
export function say(text) {
  $("said").textContent = text;
}

const shown = new WeakMap(); // the rows that each target shows: a slice of others comes too late

/** Append `rows` to `target`, the first `first` at once, the rest when asked, in slices that leave the page responsive. */
export function appendLazily(target, rows, make, { first, noun, after = target }) {
  shown.set(target, rows);
  target.append(...rows.slice(0, first).map(make));
  if (rows.length <= first) return;
  const more = h("button", { type: "button", class: "more", onclick: showAll }, `Show all ${count(rows.length, noun)}`);
  after.after(more);
  function showAll() {
    const next = target.children.length;
    more.remove();
    append(first);
    const revealed = target.children[next];
    if (revealed) {
      revealed.tabIndex = -1;
      revealed.focus({ preventScroll: true });
    }
  }
  function append(from) {
    if (shown.get(target) !== rows) return;
    target.append(...rows.slice(from, from + 500).map(make));
    if (from + 500 < rows.length) requestAnimationFrame(() => append(from + 500));
  }
}

/** Make a button that copies what `text` returns. */
export function copyButton(what, text) {
  const label = h("span", {}, "Copy");
  return h("button", { type: "button", class: "plain", onclick: copy }, label, h("span", { class: "unseen" }, ` ${what}`));
  async function copy() {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      said = "The browser forbids it";
    }
    label.textContent = said;
    say(said);
    setTimeout(() => (label.textContent = "Copy"), 2000);
  }
}
