// Show a dry run: a headline, a line for each workload, and a card for each pod.

import { decisions } from "./decisions.js";
import { diffText, yamlText } from "./diff.js";
import { UNSEEN, appendLazily, copyButton, count, h } from "./dom.js";
import { nextSteps } from "./next.js";
import { tabs } from "./tabs.js";

const FIRST = 50; // cards shown at once
const VERDICTS = {
  denied: "Denied",
  injected: "Injected",
  observed: "Observed only",
  left: "Left as it is",
};

export function verdict(pod) {
  if (!pod.allowed) return "denied";
  if (pod.observed) return "observed";
  return pod.patch.length ? "injected" : "left";
}

/** Say in one line what became of the input: `3 pods: 2 injected, 1 denied; 1 object cannot be read`. */
export function headline({ pods, ignored: parts }) {
  const broken = parts.filter((part) => part.broken).length;
  const unread = broken && `${count(broken, "object")} cannot be read`;
  if (!pods.length) return unread || "No pods in this manifest";
  return unread ? `${ofPods(pods)}; ${unread}` : ofPods(pods);
}

function ofPods(pods) {
  const parts = Object.keys(VERDICTS)
    .map((kind) => [numberOf(pods.filter((pod) => verdict(pod) === kind)), VERDICTS[kind].toLowerCase()])
    .filter(([number]) => number);
  const all = numberOf(pods);
  if (parts.length === 1) return all === 1 ? `1 pod, ${parts[0][1]}` : `${count(all, "pod")}, all ${parts[0][1]}`;
  return `${count(all, "pod")}: ${parts.map(([number, text]) => `${number.toLocaleString("en")} ${text}`).join(", ")}`;
}

/** Count pods with those that are not shown, because they are as one that is. */
const numberOf = (pods) => pods.reduce((sum, pod) => sum + pod.replicas, 0);

/** `asked`: what the form and the server know, and what the answer's links and buttons do; main.js has it. */
export function showResults(target, answer, asked) {
  const cards = h("div", { class: "cards" });
  target.replaceChildren(h("h2", { id: "results-title", tabindex: "-1" }, headline(answer)));
  target.append(h("p", { class: "stale" }, "This answers what you asked before your last change."));
  const warned = answer.workloads.flatMap(({ source, warnings }) => warnings.map((message) => ({ source, message })));
  if (warned.length) target.append(listed("Warnings for workloads", warned, "callout warned"));
  if (answer.workloads.length) target.append(overview(answer.workloads));
  target.append(...nextSteps(answer, asked));
  const kinds = Object.keys(VERDICTS).filter((kind) => answer.pods.some((pod) => verdict(pod) === kind));
  if (kinds.length > 1) target.append(filters(kinds, answer.pods, cards));
  const broken = answer.ignored.filter((part) => part.broken);
  if (broken.length) target.append(listed("Objects that cannot be read", broken, "callout denied"));
  target.append(cards);
  fill(cards, answer.pods);
  const podless = answer.ignored.filter((part) => !part.broken);
  if (podless.length) target.append(listed("Objects without pods", podless));
}

/** Say of each workload what its pods get, without anything to be opened. */
function overview(workloads) {
  const list = h("ul", { class: "overview" });
  appendLazily(list, workloads, workload, { first: FIRST, noun: "workload" });
  return h("section", { "aria-label": "Workloads" }, list);
}

function workload({ source, namespace, summary, kinds }) {
  return h(
    "li",
    {},
    h("p", { class: "who" }, h("code", {}, source), ` ${summary}`, h("span", { class: "muted" }, ` · namespace ${namespace}`)),
    kinds.filter(({ gets }) => Object.keys(gets).length).map(gains),
  );
}

/** Say what one kind of pod gets, as `fabric-injector dry-run` does. */
function gains({ heading, gets }) {
  const rows = Object.entries(gets).map(([title, text]) => h("div", {}, h("dt", {}, title), h("dd", {}, h("code", {}, text))));
  return h("div", {}, h("p", { class: "kind" }, heading), h("dl", { class: "gains" }, rows));
}

function fill(cards, pods) {
  cards.replaceChildren();
  while (cards.nextElementSibling?.matches(".more")) cards.nextElementSibling.remove();
  const opened = pods.slice(0, FIRST).find((pod) => !pod.allowed) ?? pods[0];
  appendLazily(cards, pods, (pod) => card(pod, pod === opened), { first: FIRST, noun: "pod" });
}

function filters(kinds, pods, cards) {
  const choices = [["", "All", pods], ...kinds.map((kind) => [kind, VERDICTS[kind], pods.filter((pod) => verdict(pod) === kind)])];
  const buttons = choices.map(([kind, text, chosen]) =>
    h(
      "button",
      { type: "button", class: "filter", "aria-pressed": String(!kind), onclick: (event) => choose(event.currentTarget, chosen) },
      `${text} `,
      h("span", { class: "count" }, numberOf(chosen).toLocaleString("en")),
    ),
  );
  return h("div", { class: "filters", role: "group", "aria-label": "Show only" }, buttons);
  function choose(button, chosen) {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    fill(cards, chosen);
  }
}

let cardNumber = 0;

function card(pod, isOpen) {
  const kind = verdict(pod);
  const id = `card-${(cardNumber += 1)}`;
  const body = h("div", { class: "body", id, hidden: !isOpen });
  const toggle = h(
    "button",
    { type: "button", class: "toggle", "aria-expanded": String(isOpen), "aria-controls": id, onclick: flip },
    h("span", { class: "name" }, h("span", { class: "muted" }, `${pod.namespace}/`), pod.name),
    pod.replicas > 1 ? h("span", { class: "chip" }, `× ${pod.replicas.toLocaleString("en")}`, h("span", { class: "unseen" }, " pods like it")) : "",
    h("span", { class: `chip ${kind}` }, VERDICTS[kind]),
    pod.warnings.length ? h("span", { class: "chip warned" }, count(pod.warnings.length, "warning")) : "",
  );
  if (isOpen) body.append(...details(pod));
  return h("article", { class: `card ${kind}` }, h("h3", {}, toggle), h("p", { class: "facts" }, facts(pod)), body);
  function flip() {
    if (!body.childNodes.length) body.append(...details(pod));
    body.hidden = !body.hidden;
    toggle.setAttribute("aria-expanded", String(!body.hidden));
  }
}

function facts(pod) {
  const role = { master: "rank 0", worker: "worker" }[pod.rendezvous];
  return [
    role && `${role} of job ${pod.job}`,
    pod.system && `system ${pod.system}`,
    pod.profile && `profile ${pod.profile}`,
    `from ${pod.source}`,
  ]
    .filter(Boolean)
    .map((text) => h("span", {}, text));
}

function details(pod) {
  const told = pod.faults.map((text) => h("div", { class: "callout denied" }, h("p", {}, text)));
  if (pod.observed)
    told.push(h("p", { class: "callout observed" }, "The namespace only observes: nothing is changed or denied. This is what would be."));
  told.push(...decisions(pod.decisions));
  if (pod.warnings.length)
    told.push(h("ul", { class: "callout warned", "aria-label": "Warnings" }, pod.warnings.map((text) => h("li", {}, text))));
  return [...told, panels(pod)];
}

function panels(pod) {
  const patch = pod.patch.length ? `[\n${pod.patch.map(operationText).join(",\n")}\n]\n` : "";
  return tabs(
    [
      pod.diff && { title: "Diff", copy: copyButton("the diff", () => `${pod.diff}\n`), make: () => diffText(pod.diff) },
      { title: "YAML", copy: copyButton("the YAML", () => pod.yaml), make: () => yamlText(pod.yaml) },
      patch && { title: "JSON Patch", copy: copyButton("the JSON Patch", () => patch), make: () => yamlText(patch) },
    ].filter(Boolean),
    `Result for pod ${pod.namespace}/${pod.name}`,
  );
}

/** Write an operation in one line where it fits. */
function operationText(operation) {
  const line = JSON.stringify(operation);
  return (line.length < 110 ? line : JSON.stringify(operation, null, 2)).replace(/^/gm, "  ").replace(UNSEEN, escaped);
}

const escaped = (text) => text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

function listed(title, parts, look = "") {
  const list = h("ul", { class: `listed ${look}` });
  const section = h("section", { "aria-label": title }, h("h3", {}, title), list);
  appendLazily(list, parts, (part) => h("li", {}, h("code", {}, part.source), ` ${part.message}`), { first: FIRST, noun: "object" });
  return section;
}
