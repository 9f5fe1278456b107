// Show what each step did and why; steps that had nothing to do are folded.

import { count, h } from "./dom.js";

export function decisions(rows) {
  const happened = rows.filter(({ outcome }) => outcome !== "skipped");
  const idle = rows.filter(({ outcome }) => outcome === "skipped");
  if (!rows.length) return [];
  if (!happened.length) return [table(rows, "Decisions")];
  const others = idle.length
    ? h("details", { class: "idle" }, h("summary", {}, `${count(idle.length, "step")} had nothing to do`), table(idle, "Steps that had nothing to do"))
    : "";
  return [table(happened, "Decisions"), others];
}

function table(rows, caption) {
  const cells = (row) => [
    h("th", { scope: "row" }, row.step),
    h("td", {}, h("span", { class: `outcome ${row.outcome}` }, row.outcome)),
    h("td", {}, row.message),
  ];
  return h(
    "table",
    { class: "decisions" },
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, ["Step", "Outcome", "Why"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map((row) => h("tr", { class: row.outcome }, cells(row)))),
  );
}
