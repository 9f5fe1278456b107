// The views Status and Check, which ask the cluster again and again while they are seen.

import { checkView } from "./check.js";
import { $, h } from "./dom.js";
import { statusView } from "./status.js";

/** Add the views to the page, after the dry run; `local` is what the server's state tells of them. Return their names. */
export function addLocalViews(local) {
  const views = [statusView(local), checkView(local)];
  let before = document.querySelector('nav a[href="#dry-run"]').parentElement;
  for (const { name, title, section, look, seconds } of views) {
    const item = h("li", {}, h("a", { href: `#${name}` }, title));
    before.after(item);
    before = item;
    $("main").append(section);
    follow(section, look, seconds);
  }
  $("namespace").placeholder = local.namespace;
  return views.map(({ name }) => name);
}

/** Call `look` while the section is to be seen, `seconds` after the last look has ended, and at once when it is opened or asked for. */
function follow(section, look, seconds) {
  let timer = 0;
  let under = null; // the look that is under way
  let again = false; // what is asked for has changed meanwhile
  const isSeen = () => !section.hidden && !document.hidden;

  async function turn() {
    clearTimeout(timer);
    if (!isSeen()) return;
    if (under) {
      again = true;
      return;
    }
    const began = Date.now();
    under = look();
    await under;
    under = null;
    const pause = again ? 0 : Math.max(seconds * 1000, 3 * (Date.now() - began)); // a large cluster is asked less often
    again = false;
    if (isSeen()) timer = setTimeout(turn, pause);
  }

  section.addEventListener("look", turn);
  document.addEventListener("visibilitychange", turn);
  new MutationObserver(turn).observe(section, { attributes: true, attributeFilter: ["hidden"] });
}

