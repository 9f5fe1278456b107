// Check: what fabric-injector check finds in the cluster, failures first.

import { get } from "./api.js";
import { count, h } from "./dom.js";
import { findingList, makeView } from "./looking.js";

const SECONDS = 60;
const GROUPS = [
  ["fail", "failure", "To mend"],
  ["warn", "warning", "To look at"],
  ["ok", "finding", "As it should be"],
];

export function checkView({ cluster }) {
  return makeView({
    name: "check",
    title: "Check",
    lead: `What fabric-injector check finds in ${cluster}, and what to do. Nothing is changed: the one pod that is sent is a dry run.`,
    ask: () => get("check"),
    show,
    seconds: SECONDS,
  });
}

let told = "";

function show(held, { systemNamespace, findings, summary }) {
  const numbers = `${count(summary.fail, "failure")}, ${count(summary.warn, "warning")}, ${summary.ok.toLocaleString("en")} ok`;
  const text = JSON.stringify(findings);
  if (text === told) return numbers;
  told = text;
  const isOpen = held.querySelector("details")?.open ?? false;
  held.replaceChildren(
    h("p", { class: "muted" }, `${numbers}; installation in namespace ${systemNamespace}`),
    ...GROUPS.flatMap(([level, noun, title]) => {
      const chosen = findings.filter((finding) => finding.level === level);
      if (!chosen.length) return [];
      const heading = h("h2", {}, title, " ", h("span", { class: "muted" }, count(chosen.length, noun)));
      if (level !== "ok") return [heading, findingList(chosen)];
      return [h("details", { open: isOpen }, h("summary", {}, heading), findingList(chosen))];
    }),
  );
  return numbers;
}
