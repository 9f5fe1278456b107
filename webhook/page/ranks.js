// A small picture of a job: rank 0, the others, their addresses, and who waits for whom. Made by DOM calls, texts are text nodes.

import { count, gather, h } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const [ROW, BOX, GAP, PAD] = [46, 38, 8, 1]; // pixels
const LETTER = 6.7; // width of a letter of 11 px, monospaced
const MOST = 9; // boxes beside rank 0: of more, those that wait come first

const waitsForRankZero = (row) => row.lacks.includes("master-addr");
const lacksOwn = (row) => row.lacks.some((need) => need.endsWith(":own"));

/** Draw the ranks of one or several jobs, each by itself, anew when the width changes. */
export function ranksPicture(members) {
  const jobs = new Map();
  for (const row of members) gather(jobs, row.job, row);
  const box = h("div", { class: "ranks" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.min(760, Math.floor(box.clientWidth));
    if (!width || width === drawn) return;
    drawn = width;
    box.replaceChildren(...[...jobs.values()].slice(0, 4).map((rows) => draw(rows, width)), legend());
  }).observe(box);
  return box;
}

function draw(rows, width) {
  const zero = rows.find((row) => row.role === "rank 0");
  const others = rows.filter((row) => row !== zero).sort((one, other) => waits(other) - waits(one));
  const shown = others.slice(0, MOST);
  const rest = others.slice(MOST);
  const lines = Math.max(1, shown.length + Boolean(rest.length));
  const height = lines * ROW - GAP + 2 * PAD;
  const boxWidth = Math.floor((width - Math.max(36, width / 8)) / 2);
  const left = { x: PAD, y: Math.floor((height - BOX) / 2), width: boxWidth };
  const right = width - boxWidth - PAD;
  const svg = s("svg", { class: "picture", role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": described(zero, others) });
  for (const [index, row] of shown.entries()) {
    const y = PAD + index * ROW;
    if (row.role === "worker") svg.append(edge(right, y + BOX / 2, left.x + boxWidth, left.y + BOX / 2, row));
    svg.append(rankBox(row, right, y, boxWidth));
  }
  if (rest.length) svg.append(text(`and ${count(rest.length, "more pod")}${tally(rest)}`, right, PAD + shown.length * ROW + 14, boxWidth));
  svg.append(zero ? rankBox(zero, left.x, left.y, boxWidth) : noRankZero(left));
  return svg;
}

const waits = (row) => Number(waitsForRankZero(row)) + Number(lacksOwn(row));

function tally(rows) {
  const waiting = rows.filter(waits).length;
  return waiting ? `, ${waiting.toLocaleString("en")} waiting` : "";
}

/** Draw the line from a pod to rank 0: whole where it was told its address, broken where it waits for it. */
function edge(x, y, toX, toY, row) {
  const waiting = waitsForRankZero(row);
  if (!waiting && !row.rank_zero) return document.createDocumentFragment();
  const middle = (x + toX) / 2;
  const group = s("g", { class: waiting ? "edge waiting" : "edge told" });
  group.append(
    s("path", { d: `M${x} ${y} C${middle} ${y} ${middle} ${toY} ${toX + 6} ${toY}` }),
    s("path", { class: "head", d: `M${toX + 1} ${toY} l7 -4 v8 z` }),
  );
  return group;
}

function rankBox(row, x, y, width) {
  const state = waits(row) ? "waiting" : row.phase === "Running" ? "running" : "other";
  const group = s("g", { class: `rank ${state}` });
  const role = row.role === "rank 0" ? "rank 0 · " : "";
  group.append(
    titled(`${row.role ? `${row.role}: ` : ""}${row.pod}, ${told(row)}`),
    s("rect", { x, y, width, height: BOX, rx: 6 }),
    text(role + row.pod, x + 8, y + 16, width - 16, "strong"),
    text(told(row, lettersIn(width - 16)), x + 8, y + 30, width - 16),
  );
  return group;
}

/** Say in so many letters how a pod is. */
function told(row, most = Infinity) {
  if (waits(row)) {
    const waiting = `waits for ${waitsForRankZero(row) ? "rank 0" : "its address"}`;
    const since = /\d/.test(row.wait) ? `, ${row.wait}` : "";
    return waiting.length + since.length > most ? waiting : waiting + since;
  }
  const address = row.address ?? "no address";
  return row.phase === "Running" ? address : `${address}, ${row.phase}`;
}

function noRankZero({ x, y, width }) {
  const group = s("g", { class: "rank missing" });
  group.append(s("rect", { x, y, width, height: BOX, rx: 6 }), text("no rank 0", x + 8, y + 23, width - 16, "strong"));
  return group;
}

function legend() {
  return h("p", { class: "hint" }, "A whole line: the pod was told rank 0's address. A broken one: it waits for it.");
}

/** Say the whole picture in a sentence, for those who do not see it. */
function described(zero, others) {
  const waiting = others.filter(waitsForRankZero).length;
  const informed = others.filter((row) => row.rank_zero).length;
  const first = zero ? `Rank 0 is ${zero.pod}, ${zero.address ? `at ${zero.address}` : "without an address"}.` : "There is no rank 0.";
  return `${first} ${count(others.length, "other pod")}: ${informed.toLocaleString("en")} told of it, ${waiting.toLocaleString("en")} waiting for it.`;
}

const lettersIn = (width) => Math.floor(width / LETTER);

export function text(content, x, y, width, look = "") {
  const most = Math.max(4, lettersIn(width));
  const letters = [...content];
  const keep = most - 1;
  const cut = letters.length <= most ? content : `${letters.slice(0, Math.ceil(keep / 2)).join("")}…${letters.slice(-Math.floor(keep / 2)).join("")}`;
  const element = s("text", { x, y, class: look });
  element.append(cut);
  return element;
}

export function titled(content) {
  const element = s("title", {});
  element.append(content);
  return element;
}

export function s(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
