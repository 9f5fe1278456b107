// Show why: what denies a pod, with the lines where it stands, and what each step did; steps that had nothing to do are folded.

import { count, h } from "./dom.js";

/** Give a callout for each fault. `go`: how to show a line, `toManifest(line)` and `toYaml(line)`. */
export const faults = (rows, go) =>
  rows.map((row) => h("div", { class: "callout denied" }, h("p", {}, row.message), row.line || row.manifestLine ? h("p", { class: "places" }, places(row, go)) : ""));

export function decisions(rows, go) {
  const happened = rows.filter(({ outcome }) => outcome !== "skipped");
  const idle = rows.filter(({ outcome }) => outcome === "skipped");
  if (!rows.length) return [];
  if (!happened.length) return [table(rows, go, "Decisions")];
  const others = idle.length
    ? h("details", { class: "idle" }, h("summary", {}, `${count(idle.length, "step")} had nothing to do`), table(idle, go, "Steps that had nothing to do"))
    : "";
  return [table(happened, go, "Decisions"), others];
}

function table(rows, go, caption) {
  const titles = ["Step", "Outcome", "Why", ...(rows.some((row) => row.line || row.manifestLine) ? ["Where"] : [])];
  return h(
    "table",
    { class: "decisions" },
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, titles.map((text) => h("th", { scope: "col" }, text)))),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          { class: row.outcome },
          h("th", { scope: "row" }, row.step),
          h("td", {}, h("span", { class: `outcome ${row.outcome}` }, row.outcome)),
          h("td", {}, row.message),
          titles[3] ? h("td", { class: "places" }, places(row, go)) : "",
        ),
      ),
    ),
  );
}

/** Give the buttons that lead to the lines that a decision speaks of. */
function places({ line, manifestLine }, go) {
  const button = (text, press) => h("button", { type: "button", class: "plain", onclick: press }, text);
  return [
    manifestLine ? button(`Manifest line ${manifestLine.toLocaleString("en")}`, () => go.toManifest(manifestLine)) : "",
    line ? button(`YAML line ${line.toLocaleString("en")}`, () => go.toYaml(line)) : "",
  ];
}
