// Show YAML and unified diffs of it, of any length.

import { appendLazily, count, h } from "./dom.js";

const FIRST = 400; // lines shown at once
const OPENED = 200; // unchanged lines shown at one press
const FARTHEST = 5000; // line to which a link leads
const LONGEST = 5000; // characters of one line
const KEY = /^(\s*(?:- )*)("[^"]*"|'[^']*'|[^\s:'"#-][^:]*)(:)(?=\s|$)/;

/**
 * Take a unified diff apart: rows of kind `same`, `add`, `del`, `gap` between hunks, and `fold` for parts of ours.
 * `yaml` is the text after the change; `own` has the first and the last line of each part of it that is folded.
 */
export function parseDiff(text, yaml, own) {
  const after = yaml.replace(/\n$/, "").split("\n");
  const rows = [];
  let [old, now] = [1, 1];
  for (const row of text.split("\n").slice(2)) {
    const hunk = /^@@ -(\d+)\S* \+(\d+)\S* @@ ?(.*)/.exec(row);
    if (hunk) {
      rows.push({ kind: "gap", after, old, now, number: Number(hunk[2]) - now, path: hunk[3] });
      [old, now] = [Number(hunk[1]), Number(hunk[2])];
    } else if (row.startsWith("@@")) {
      return [{ kind: "gap", text: row.replaceAll("@@", "").trim() }];
    } else {
      const kind = { "+": "add", "-": "del" }[row[0]] ?? "same";
      rows.push({ kind, text: row.slice(1), line: kind === "del" ? old : now, old, now });
      if (kind !== "add") old += 1;
      if (kind !== "del") now += 1;
    }
  }
  rows.push({ kind: "gap", after, old, now, number: after.length - now + 1 });
  return pair(fold(rows.filter((row) => row.kind !== "gap" || row.number > 0), own));
}

/** Put the rows of each part of ours into one row, which opens. */
function fold(rows, own) {
  const folded = [];
  let current = null; // the part that the row before is of
  for (const row of rows) {
    const part = row.kind === "add" && own.find(([first, last]) => row.now >= first && row.now <= last);
    if (part && part === current) folded.at(-1).rows.push(row);
    else folded.push(part ? { kind: "fold", rows: [row] } : row);
    current = part;
  }
  return folded;
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

/** Fill a row that stands for others with a button, which puts them into its place: some at a time, where they are many. */
function closed(row, holder, target, make) {
  const path = row.path ? [" · in ", h("code", {}, row.path.replaceAll(".", " › "))] : "";
  const name = row.rows && row.rows[0].text.replace(/^\s*- name: /, "");
  const what = row.rows ? `${count(row.rows.length, "line")} of the wait step: ${name}` : row.text ?? `${count(row.number, "line")} unchanged`;
  if (row.text) target.append(row.text);
  else target.append(h("button", { type: "button", class: "plain open", onclick: open }, h("span", { class: "unseen" }, "Show "), what), ...[path].flat());
  function open() {
    const all = row.rows ?? unchanged(row);
    const rest = row.number - all.length;
    const made = [...all, ...(rest > 0 ? [{ ...row, old: row.old + all.length, now: row.now + all.length, number: rest }] : [])].map(make);
    holder.replaceWith(...made);
    made[0].tabIndex = -1;
    made[0].focus({ preventScroll: true });
  }
}

const unchanged = ({ after, old, now, number }) =>
  after.slice(now - 1, now - 1 + Math.min(number, OPENED)).map((text, at) => ({ kind: "same", text, line: now + at, old: old + at, now: now + at }));

const SIGNS = { add: "+", del: "−", same: " " };
const stands = (row) => row?.kind === "gap" || row?.kind === "fold";

function unifiedLine(row) {
  if (stands(row)) {
    const line = h("div", { class: `line ${row.kind}` });
    closed(row, line, line, unifiedLine);
    return line;
  }
  return h("div", { class: `line ${row.kind}`, "data-line": row.line }, h("span", { class: "sign" }, SIGNS[row.kind]), content(row));
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
  if (stands(left)) {
    const cell = h("td", { class: left.kind, colspan: "2" });
    const line = h("tr", {}, cell);
    closed(left, line, cell, (row) => splitLine(row.kind === "add" ? [null, row] : [row, row]));
    return line;
  }
  const cells = [[left, "old"], [right, "now"]];
  return h("tr", {}, cells.map(([side, key]) => h("td", { class: side ? side.kind : "none", "data-line": side?.[key] }, side && content(side))));
}

function content(row) {
  const parts = coloured(row.text, row.differs);
  if (row.kind === "same") return h("span", {}, parts);
  return h(row.kind === "add" ? "ins" : "del", {}, parts);
}

/** Show text of YAML. `marks` has line, outcome and message of each decision that speaks of a line; what denies is told below it. */
export function yamlText(text, marks = []) {
  const lines = h("div", { class: "code" });
  const box = h("div", {}, lines);
  const rows = text.replace(/\n$/, "").split("\n").map((row, at) => ({ text: row, line: at + 1 }));
  for (const mark of marks) if (rows[mark.line - 1]) (rows[mark.line - 1].marks ??= []).push(mark);
  const last = Math.max(0, ...marks.map(({ line }) => line).filter((line) => line < FARTHEST));
  appendLazily(lines, rows, yamlLine, { first: Math.max(FIRST, last + 10), noun: "line" });
  return box;
}

function yamlLine({ text, line, marks = [] }) {
  const denied = marks.filter(({ outcome }) => outcome === "denied");
  const notes = denied.map(({ message }) => h("p", { class: "note" }, message));
  return h("div", { class: `line${denied.length ? " marked" : ""}`, "data-line": line }, coloured(text), notes);
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
