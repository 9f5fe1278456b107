// What Status and Check have in common: a view with a button that looks again, the time of the last look, and what went wrong.

import { h, say } from "./dom.js";

export const LEVELS = { fail: "denied", warn: "warned", ok: "injected" };

/** Make a view; its `ask` returns an answer of the server, which `show` shows. */
export function makeView({ name, title, lead, controls = [], ask, show, seconds }) {
  const at = h("span", { class: "hint" });
  const problem = h("p", { class: "problem", role: "alert" });
  const button = h("button", { type: "button", onclick: press }, "Look again");
  const held = h("div", { class: "held" });
  const section = h(
    "section",
    { id: name, class: "view", "aria-labelledby": `${name}-title`, hidden: true },
    h("h1", { id: `${name}-title`, tabindex: "-1" }, title),
    h("p", { class: "lead" }, lead),
    h("div", { class: "look" }, controls, h("p", {}, button, at)),
    problem,
    held,
  );
  let isPressed = false;

  function press() {
    isPressed = true;
    section.dispatchEvent(new Event("look"));
  }

  async function look() {
    held.setAttribute("aria-busy", "true");
    button.textContent = "Looking…";
    try {
      const summary = show(held, await ask());
      at.textContent = `as of ${new Date().toLocaleTimeString()}`;
      if (problem.textContent) problem.textContent = "";
      held.classList.remove("outdated");
      if (isPressed) say(summary);
    } catch (error) {
      if (problem.textContent !== error.message) problem.textContent = error.message; // told once to screen readers
      held.classList.add("outdated");
    }
    isPressed = false;
    held.setAttribute("aria-busy", "false");
    button.textContent = "Look again";
  }

  return { name, title, section, look, seconds };
}

/** Make a list of findings: level, what was found of what, what to do, and the code by which explain --code tells more. */
export function findingList(findings) {
  return h("ul", { class: "findings" }, findings.map(item));
}

function item({ level, code, subject, message, action, means }) {
  return h(
    "li",
    {},
    h("p", {}, h("span", { class: `chip ${LEVELS[level]}` }, level), " ", h("strong", {}, `${subject}: `), message),
    action ? h("p", { class: "action" }, h("span", { "aria-hidden": "true" }, "→ "), action) : "",
    h("p", { class: "hint" }, h("code", {}, code), means && means !== message ? ` ${means}` : ""),
  );
}

/** Say what could not be read. */
export function unreadList(unread) {
  if (!unread.length) return "";
  return h(
    "div",
    { class: "callout warned" },
    h("p", {}, "Not all could be read, so part of this is unknown:"),
    h("ul", {}, unread.map(({ what, problem }) => h("li", {}, h("strong", {}, `${what}: `), problem))),
  );
}
