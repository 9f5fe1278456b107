// Show YAML and unified diffs of it, of any length.

import { appendLazily, count, h } from "./dom.js";

const FIRST = 400; // lines shown at once
const LONGEST = 5000; // characters of one line
const KEY = /^(\s*(?:- )*)("[^"]*"|'[^']*'|[^\s:'"#-][^:]*)(:)(?=\s|$)/;

/** Take a unified diff apart: rows of kind `same`, `add`, `del`, and `gap` between hunks. */
export function parseDiff(text) {
  const rows = [];
  let line = 1;
  for (const row of text.split("\n").slice(2)) {
    const hunk = /^@@ -(\d+)\S* \S+ @@ ?(.*)/.exec(row);
    if (hunk) {
      const skipped = Number(hunk[1]) - line;
      if (skipped > 0) rows.push({ kind: "gap", text: `${count(skipped, "line")} unchanged`, path: hunk[2] });
      line = Number(hunk[1]);
    } else if (row.startsWith("@@")) {
      rows.push({ kind: "gap", text: row.replaceAll("@@", "").trim() });
    } else {
      const kind = { "+": "add", "-": "del" }[row[0]] ?? "same";
      if (kind !== "add") line += 1;
      rows.push({ kind, text: row.slice(1) });
    }
  }
  return pair(rows);
}

/** Join each deleted line with the added one below it that has the same key, and mark what differs within them. */
function pair(rows) {
  let next = 0; // so that joined lines never cross
  for (const [at, left] of rows.entries()) {
    if (left.kind !== "del") continue;
    let end = at;
    while (rows[end]?.kind === "del") end += 1;
    for (let other = Math.max(end, next); rows[other]?.kind === "add"; other += 1) {
      if (keyOf(left) !== keyOf(rows[other])) continue;
      left.with = rows[other];
      mark(left, rows[other]);
      next = other + 1;
      break;
    }
  }
  return rows;
}

const keyOf = (row) => KEY.exec(row.text.slice(0, LONGEST))?.[0] ?? row.text;

function mark(left, right) {
  const [one, other] = [left.text, right.text];
  const most = Math.min(one.length, other.length, LONGEST);
  let head = 0;
  while (head < most && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  if (head + tail < Math.max(one.length, other.length) / 3) return;
  left.differs = [head, one.length - tail];
  right.differs = [head, other.length - tail];
}

export function unifiedDiff(rows) {
  const lines = h("div", { class: "code diff" });
  const box = h("div", {}, lines);
  appendLazily(lines, rows, unifiedLine, { first: FIRST, noun: "line" });
  return box;
}

function gap(row) {
  const path = row.path ? h("code", {}, row.path.replaceAll(".", " › ")) : "";
  return [row.text, path && " · in ", path];
}

const SIGNS = { add: "+", del: "−", same: " " };

function unifiedLine(row) {
  if (row.kind === "gap") return h("div", { class: "line gap" }, gap(row));
  return h("div", { class: `line ${row.kind}` }, h("span", { class: "sign" }, SIGNS[row.kind]), content(row));
}

export function splitDiff(rows) {
  const body = h("tbody");
  const table = h(
    "table",
    { class: "code diff split" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "As submitted"), h("th", { scope: "col" }, "As admitted"))),
    body,
  );
  const box = h("div", {}, table);
  appendLazily(body, besides(rows), splitLine, { first: FIRST, noun: "line", after: table });
  return box;
}

/** Put rows beside each other: pairs of left and right, null where one side has nothing. */
function besides(rows) {
  const pairs = [];
  for (let at = 0; at < rows.length; ) {
    if (rows[at].kind !== "del" && rows[at].kind !== "add") {
      pairs.push([rows[at], rows[at]]);
      at += 1;
      continue;
    }
    let end = at;
    while (rows[end]?.kind === "del") end += 1;
    for (const left of rows.slice(at, end)) {
      while (left.with && rows[end] !== left.with) pairs.push([null, rows[end++]]);
      pairs.push([left, left.with ? rows[end++] : null]);
    }
    while (rows[end]?.kind === "add") pairs.push([null, rows[end++]]);
    at = end;
  }
  return pairs;
}

function splitLine([left, right]) {
  if (left?.kind === "gap") return h("tr", {}, h("td", { class: "gap", colspan: "2" }, gap(left)));
  return h("tr", {}, [left, right].map((side) => h("td", { class: side ? side.kind : "none" }, side && content(side))));
}

function content(row) {
  const parts = coloured(row.text, row.differs);
  if (row.kind === "same") return h("span", {}, parts);
  return h(row.kind === "add" ? "ins" : "del", {}, parts);
}

/** Show text of YAML. */
export function yamlText(text) {
  const lines = h("div", { class: "code" });
  const box = h("div", {}, lines);
  const rows = text.replace(/\n$/, "").split("\n");
  appendLazily(lines, rows, (row) => h("div", { class: "line" }, coloured(row)), { first: FIRST, noun: "line" });
  return box;
}

/** Give the pieces of one line: its key, and the part that differs, in elements of their own. */
function coloured(text, differs) {
  const shown = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  const cut = text.length - shown.length;
  const key = KEY.exec(shown);
  const [from, to] = differs ?? [shown.length, shown.length];
  const edge = key && key[0].length <= from ? key[0].length : 0;
  return [
    edge ? key[1] : "",
    edge ? h("span", { class: "key" }, key[2] + key[3]) : "",
    shown.slice(edge, from),
    from < to ? h("mark", {}, shown.slice(from, to)) : "",
    shown.slice(Math.max(from, to)),
    cut ? h("span", { class: "cut" }, ` … ${cut.toLocaleString("en")} more characters`) : "",
    text ? "" : "\u200b",
  ];
}
