// Tabs as the ARIA Authoring Practices describe them; a panel is made when it is first looked at.

import { h } from "./dom.js";

let made = 0;

/** `items`: title, `make()` for the content, and a copy button. */
export function tabs(items, label) {
  const id = `tabs-${(made += 1)}`;
  const buttons = items.map((item, index) =>
    h(
      "button",
      { type: "button", role: "tab", id: `${id}-tab-${index}`, "aria-controls": `${id}-panel-${index}`, onclick: () => show(index) },
      item.title,
    ),
  );
  const tools = items.map((item, index) => h("span", { class: "tools" }, item.copy));
  const panels = items.map((item, index) =>
    h("div", { role: "tabpanel", id: `${id}-panel-${index}`, "aria-labelledby": `${id}-tab-${index}`, tabindex: "0", class: "panel" }),
  );
  const list = h("div", { role: "tablist", "aria-label": label, onkeydown: move }, buttons);
  show(0);
  return h("div", { class: "tabs" }, h("div", { class: "tab-bar" }, list, tools), panels);

  function show(chosen) {
    for (const [index, button] of buttons.entries()) {
      const isChosen = index === chosen;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
      tools[index].hidden = panels[index].hidden = !isChosen;
    }
    if (!panels[chosen].childNodes.length) panels[chosen].append(items[chosen].make());
  }

  function move(event) {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = (to + buttons.length) % buttons.length;
    show(next);
    buttons[next].focus();
  }
}
