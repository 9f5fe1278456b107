// A picture of how a job started: a bar for each pod, of the steps that explain tells. Made by DOM calls, texts are text nodes.

import { count, h } from "./dom.js";
import { s, text, titled } from "./ranks.js";

const [ROW, BAR, LINE] = [52, 12, 15]; // pixels
const MOST = 12; // pods that are drawn
const STEPS = ["no node", "network", "containers", "network or containers", "wait", "training"];

/** Draw the start of each pod, anew when the width changes. */
export function timelinePicture({ timeline, members }) {
  const rows = members.slice(0, MOST);
  const box = h("div", { class: "timeline" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.min(760, Math.floor(box.clientWidth));
    if (!width || width === drawn) return;
    drawn = width;
    box.replaceChildren(draw(rows, timeline.seconds, width), legend(timeline, members.length));
  }).observe(box);
  return box;
}

function draw(rows, seconds, width) {
  const height = rows.length * ROW;
  const svg = s("svg", { class: "picture", role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": rows.map(described).join(" ") });
  const at = (time) => (Math.min(time, seconds) / seconds) * width;
  for (const [index, { pod, start }] of rows.entries()) {
    const y = index * ROW;
    svg.append(text(pod, 0, y + LINE - 3, width, "strong"), text(start.says, 0, y + 2 * LINE - 3, width));
    for (const { name, begins, ends } of start.steps) {
      const from = at(begins);
      const bar = s("rect", { class: `step s${STEPS.indexOf(name)}`, x: from, y: y + 2 * LINE + 2, width: Math.max(1, at(ends ?? seconds) - from), height: BAR });
      bar.append(titled(`${name}: ${length(begins, ends)}`));
      svg.append(bar);
    }
  }
  return svg;
}

const length = (begins, ends) => (ends === null ? "goes on" : `${Math.round(ends - begins)} s`);

/** Say a row in a sentence, for those who do not see it. */
function described({ pod, start }) {
  const trains = start.trains_after === null ? "does not train yet" : `trains after ${Math.round(start.trains_after)} s`;
  return `${pod} ${trains}${start.says ? `: ${start.says}` : ""}.`;
}

function legend({ since, seconds }, pods) {
  const first = pods > MOST ? `; the first ${MOST} of ${count(pods, "pod")}` : "";
  const names = STEPS.map((name, index) => [h("span", { class: `key s${index}` }), `${name} `]);
  return h("p", { class: "hint" }, names, `· ${Math.round(seconds)} s from ${since}${first}`);
}
