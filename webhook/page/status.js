// Status: all jobs as fabric-injector status tells them, and what explain finds of the one that is chosen.

import { get } from "./api.js";
import { count, h } from "./dom.js";
import { LEVELS, findingList, makeView, unreadList } from "./looking.js";
import { ranksPicture } from "./ranks.js";
import { timelinePicture } from "./timeline.js";

const SECONDS = 10;
const FIRST = 200; // rows that are shown: those in trouble come first
const HEADINGS = ["Job", "Phase", "Members", "Waits", "Address of rank 0", "First finding"];

export function statusView(local) {
  const space = h("input", { id: "status-namespace", list: "known-namespaces", placeholder: local.namespace, spellcheck: "false", autocapitalize: "none" });
  const all = h("input", { id: "status-all", type: "checkbox" });
  const rows = new Map(); // what is shown of each job, by its namespace and name
  let chosen = ""; // whose findings are shown
  let told = "";
  let of = ""; // the namespace that the table is of
  const view = makeView({
    name: "status",
    title: "Status",
    lead: "The jobs that are injected or should be, those in trouble first. Choose one to see why.",
    controls: [
      h("p", { class: "filter-by" }, h("label", { for: "status-namespace" }, "Jobs of namespace"), space),
      h("p", { class: "filter-by" }, all, h("label", { for: "status-all" }, "All namespaces")),
    ],
    ask,
    show,
    seconds: SECONDS,
  });
  const lookAgain = () => view.section.dispatchEvent(new Event("look"));
  space.addEventListener("change", lookAgain);
  all.addEventListener("change", () => {
    space.disabled = all.checked;
    lookAgain();
  });
  return view;

  async function ask() {
    const query = new URLSearchParams({ namespace: all.checked ? "" : space.value.trim() || local.namespace });
    const answer = await get(`status?${query}`);
    if (rows.has(chosen) && answer.jobs.some((job) => keyOf(job) === chosen)) answer.details = await detailsOf(chosen);
    return answer;
  }

  function show(held, { namespace, jobs, summary, unread, details }) {
    const { jobs: total, failing } = summary;
    const text = JSON.stringify([namespace, jobs, unread]);
    if (text !== told || of !== namespace) {
      [told, of] = [text, namespace];
      const focused = held.contains(document.activeElement) ? document.activeElement : null;
      const where = namespace ? `namespace ${namespace}` : "any namespace";
      held.replaceChildren(
        unreadList(unread),
        jobs.length ? table(jobs, !namespace) : h("p", { class: "nothing" }, `No job in ${where} is injected, or trains where a profile is asked for.`),
        total > FIRST ? h("p", { class: "hint" }, `The first ${FIRST} of ${count(total, "job")} are shown: choose a namespace.`) : "",
      );
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    }
    if (details) fill(chosen, details);
    return `${count(total, "job")}, ${failing ? count(failing, "failing one") : "none failing"}`;
  }

  function table(jobs, withNamespace) {
    const known = new Map(rows);
    rows.clear();
    const lines = jobs.slice(0, FIRST).map((job) => {
      const row = known.get(keyOf(job)) ?? makeRow(job);
      rows.set(keyOf(job), row);
      row.update(job, withNamespace);
      return [row.line, row.below];
    });
    return h(
      "table",
      { class: "known jobs" },
      h("caption", { class: "unseen" }, "jobs"),
      h("thead", {}, h("tr", {}, HEADINGS.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, lines),
    );
  }

  function makeRow(job) {
    const key = keyOf(job);
    const id = `job-${encodeURIComponent(key)}`;
    const button = h("button", { type: "button", class: "plain name", "aria-expanded": "false", "aria-controls": id, onclick: () => choose(key) });
    const line = h("tr", {}, h("th", { scope: "row" }, button), HEADINGS.slice(1).map((title) => h("td", { "data-title": title })));
    const box = h("div", { class: "explained", "aria-live": "off" });
    const below = h("tr", { class: "below", id, hidden: true }, h("td", { colspan: HEADINGS.length }, box));
    const row = { job, line, below, box, button, update };
    return row;

    function update(now, withNamespace) {
      row.job = now;
      button.textContent = withNamespace ? `${now.namespace}/${now.name}` : now.name;
      const cells = [now.phase, membersOf(now), waitsOf(now), now.address, first(now.first)];
      for (const [index, cell] of cells.entries()) line.children[index + 1].replaceChildren(cell ?? "-");
    }
  }

  /** Open a job's findings, or close them. */
  async function choose(key) {
    const before = rows.get(chosen);
    if (before) {
      before.below.hidden = true;
      before.button.setAttribute("aria-expanded", "false");
    }
    const row = rows.get(key);
    if (before === row) {
      chosen = "";
      return;
    }
    chosen = key;
    row.button.setAttribute("aria-expanded", "true");
    row.below.hidden = false;
    if (!row.box.childNodes.length) row.box.replaceChildren(h("p", { class: "muted", role: "status" }, "Reading the job…"));
    fill(key, await detailsOf(key));
  }

  async function detailsOf(key) {
    const { namespace, name } = rows.get(key).job;
    try {
      return await get(`explain?${new URLSearchParams({ namespace, job: name })}`);
    } catch (error) {
      return { problem: error.message };
    }
  }

  function fill(key, details) {
    const row = rows.get(key);
    const text = JSON.stringify({ ...details, at: "" });
    if (!row || row.text === text) return;
    row.text = text;
    if (details.problem) {
      row.box.replaceChildren(h("p", { class: "problem", role: "alert" }, details.problem));
      return;
    }
    const start = details.members.length ? [h("h2", {}, "Start"), timelinePicture(details)] : [];
    row.box.replaceChildren(h("h2", {}, "What explain finds"), findingList(details.findings), h("h2", {}, "Ranks"), ranksPicture(details.members), ...start, memberTable(details));
  }
}

const keyOf = ({ namespace, name }) => `${namespace}/${name}`;

const membersOf = ({ members, expected }) => (expected > members ? `${members}/${expected}` : String(members));

function waitsOf({ waits_seconds: seconds }) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit}`;
  }
  return seconds === null ? null : `${seconds} s`;
}

function first(finding) {
  if (!finding) return h("span", { class: "chip injected" }, "ok");
  return h("span", {}, h("span", { class: `chip ${LEVELS[finding.level]}` }, finding.level), ` ${finding.subject}: ${finding.message}`);
}

const MEMBER = ["Pod", "Role", "Phase", "Node", "Address", "Told", "Wait"];

function memberTable({ members, total }) {
  const cells = ({ role, phase, node, address, told, wait }) => [role, phase, node, address, told, wait];
  return h(
    "details",
    {},
    h("summary", {}, count(total, "pod"), " in a table"),
    h(
      "table",
      { class: "known" },
      h("caption", { class: "unseen" }, "pods"),
      h("thead", {}, h("tr", {}, MEMBER.map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        members.slice(0, FIRST).map((row) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, row.pod)), cells(row).map((cell, index) => h("td", { "data-title": MEMBER[index + 1] }, cell ?? "-")))),
      ),
    ),
    total > FIRST ? h("p", { class: "hint" }, `The first ${FIRST} are shown; fabric-injector explain -o json lists all.`) : "",
  );
}
