// Show YAML and unified diffs of it, of any length.

import { appendLazily, h } from "./dom.js";

const FIRST = 400; // lines shown at once
const LONGEST = 5000; // characters of one line
const KEY = /^(\s*(?:- )*)("[^"]*"|'[^']*'|[^\s:'"#-][^:]*)(:)(?=\s|$)/;

/** Show the text of a unified diff, without its two titles. */
export const diffText = (text) => linesOf(text.split("\n").slice(2), diffLine, "code diff");

export const yamlText = (text) => linesOf(text.replace(/\n$/, "").split("\n"), (row) => h("div", { class: "line" }, coloured(row)), "code");

function linesOf(rows, make, look) {
  const lines = h("div", { class: look });
  const box = h("div", {}, lines);
  appendLazily(lines, rows, make, { first: FIRST, noun: "line" });
  return box;
}

function diffLine(row) {
  if (row.startsWith("@@")) return h("div", { class: "line gap" }, row);
  const kind = { "+": "add", "-": "del" }[row[0]] ?? "same";
  const content = coloured(row.slice(1));
  return h(
    "div",
    { class: `line ${kind}` },
    h("span", { class: "sign" }, row[0] ?? " "),
    kind === "same" ? h("span", {}, content) : h(kind === "add" ? "ins" : "del", {}, content),
  );
}

/** Give the pieces of one line, its key in an element of its own. */
function coloured(text) {
  const shown = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  const cut = text.length - shown.length;
  const key = KEY.exec(shown);
  return [
    key ? [key[1], h("span", { class: "key" }, key[2] + key[3])] : "",
    shown.slice(key ? key[0].length : 0),
    cut ? h("span", { class: "cut" }, ` … ${cut.toLocaleString("en")} more characters`) : "",
    text ? "" : "\u200b",
  ].flat();
}
