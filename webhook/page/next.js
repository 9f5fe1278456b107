// Say what to do where nothing is injected: the command that labels the namespace, and a run where one is labelled.

import { copyButton, h } from "./dom.js";

const MOST = 3; // commands and buttons shown
const ITS_OWN = /(^|[\s{,"'])namespace["']?\s*:/; // a manifest that names its namespace itself

/** `asked`: `text`, `namespaces`, `profiles`, and what the buttons do, `runIn(namespace)` and `runWith(profile)`. */
export function nextSteps(answer, asked) {
  const known = new Set(asked.namespaces.map(({ name }) => name));
  const isLost = answer.pods.some((pod) => pod.unlabelled || !(pod.profile || known.has(pod.namespace)));
  const tries = isLost ? buttons(asked) : [];
  if (!answer.next.length && !tries.length) return [];
  const steps = answer.next.slice(0, MOST).map((step) => command(step, asked.profiles));
  const title = h("h3", {}, "Next step");
  const others = answer.next.length - steps.length;
  return [
    h(
      "section",
      { class: "next", "aria-label": "Next step" },
      title,
      steps,
      others > 0 ? h("p", { class: "hint" }, `The same for ${others.toLocaleString("en")} more.`) : "",
      tries.length ? h("p", { class: "tries" }, h("span", {}, steps.length ? "Or see what would be:" : "See what would be:"), tries) : "",
    ),
  ];
}

function command(step, profiles) {
  const names = profiles.map(({ name }) => name);
  const isChoice = step.endsWith("=PROFILE");
  const text = isChoice && names.length === 1 && /^[a-z0-9.-]+$/.test(names[0]) ? step.replace(/PROFILE$/, names[0]) : step;
  const why = isChoice ? "The namespace carries no label, so nothing is injected there. An admin of the cluster labels it:" : "The namespace only observes. An admin of the cluster lets it inject:";
  return h(
    "div",
    {},
    h("p", {}, why),
    h("p", { class: "command" }, h("code", {}, text), copyButton("the command", () => text)),
    text.endsWith("=PROFILE") && names.length ? h("p", { class: "hint" }, `PROFILE is one of: ${names.join(", ")}`) : "",
  );
}

function buttons({ text, namespaces, profiles, runIn, runWith }) {
  const button = (title, press) => h("button", { type: "button", onclick: press }, title);
  if (ITS_OWN.test(text)) return profiles.slice(0, MOST).map(({ name }) => button(`Run with profile ${name}`, () => runWith(name)));
  const labelled = namespaces.filter(({ profile, observed }) => profile && !observed);
  return labelled.slice(0, MOST).map(({ name }) => button(`Run as namespace ${name}`, () => runIn(name)));
}
