// Show what the server knows: profiles, networks, namespaces and jobs.

import { $, UNSEEN, appendLazily, count, gather, h } from "./dom.js";

const FIRST = 100; // rows shown at once

const plain = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : String(value));
const code = (value) => h("code", {}, plain(value).replace(UNSEEN, "\ufffd")); // a value of a profile may hold what does not show
const SHOWN = 3; // links in one cell; the others are counted
const chip = (kind, text) => h("span", { class: `chip ${kind}` }, text);
const holder = (view) => $(view).querySelector(".held");

export function showKnown(state) {
  for (const view of ["profiles", "networks", "namespaces", "jobs"]) $(`${view}-count`).textContent = state[view].length.toLocaleString("en");
  const links = linked(state);
  showProfiles(state, links);
  showTable("networks", state.networks, networkColumns(links), "network", "No NetworkAttachmentDefinition is known. Is Multus installed?");
  showTable("namespaces", [...state.namespaces].sort(labelledFirst), namespaceColumns(links), "namespace", "No namespace is known.");
  showTable("jobs", state.jobs, jobColumns(links), "job", "No injected rank 0 is alive. A job is listed from the moment its rank 0 is created.");
}

/** Find what belongs together: names by name, each a Map. */
function linked(state) {
  const links = { profilesOf: new Map(), namespacesOf: new Map(), jobsOf: new Map(), profileOf: new Map(), known: new Map() };
  for (const network of state.networks) links.known.set(`${network.namespace}/${network.name}`, network);
  for (const profile of state.profiles) for (const name of new Set(profile.networks.map(({ network }) => network.split("@")[0]))) gather(links.profilesOf, name, profile.name);
  for (const { name, profile } of state.namespaces) {
    if (!profile) continue;
    gather(links.namespacesOf, profile, name);
    links.profileOf.set(name, profile);
  }
  for (const { namespace, job } of state.jobs) gather(links.jobsOf, namespace, job);
  return links;
}

/** Link to a name in another view: `#profiles/rdma-shared`. */
const link = (view, name, text = name) => h("a", { href: `#${view}/${encodeURIComponent(name)}` }, code(text));

function several(view, names = []) {
  const rest = names.length - SHOWN;
  return [names.slice(0, SHOWN).map((name) => link(view, name)), rest > 0 ? h("span", { class: "muted" }, `and ${rest.toLocaleString("en")} more`) : ""];
}

const pointedAt = {}; // the name in each view to which the last link led

/** Show one name of a view, to which a link led; without a name, what the last link chose is let go. */
export function point(view, name) {
  const input = $(`${view}-filter`);
  if (input && (name || pointedAt[view])) {
    input.value = pointedAt[view] = name;
    input.dispatchEvent(new Event("input"));
  }
  for (const each of $(view).querySelectorAll(".pointed")) each.classList.remove("pointed");
  const found = name && [...$(view).querySelectorAll("[data-name]")].find((each) => each.dataset.name === name);
  if (!found) return;
  found.classList.add("pointed");
  found.scrollIntoView({ block: "center" });
}

export const labelledFirst = (one, other) => Boolean(other.profile) - Boolean(one.profile);

const networkColumns = ({ profilesOf }) => [
  ["Network", (row) => code(nameOf(row))],
  ["Devices", (row) => row.resources.map(code)],
  ["Addresses", (row) => (row.givesAddresses ? "yes" : chip("left", "no IPAM"))],
  ["Nodes", (row) => pairs(row.nodeSelector)],
  ["Profiles", (row) => several("profiles", profilesOf.get(nameOf(row)))],
  ["Fault", (row) => (row.problem ? h("span", { class: "fault" }, row.problem) : "")],
];
const namespaceColumns = ({ jobsOf }) => [
  ["Namespace", (row) => code(row.name)],
  ["Profile", (row) => (row.profile ? link("profiles", row.profile) : h("span", { class: "muted" }, "none"))],
  ["Mode", (row) => (row.observed ? chip("observed", "observe") : row.profile ? "inject" : "")],
  ["Pod security", (row) => row.podSecurity],
  ["Jobs", (row) => (jobsOf.has(row.name) ? jobsOf.get(row.name).slice(0, SHOWN).map((job) => link("jobs", `${row.name}/${job}`, job)) : "")],
];
const jobColumns = ({ profileOf }) => [
  ["Namespace", (row) => link("namespaces", row.namespace)],
  ["Job", (row) => code(row.job)],
  ["Rank 0", (row) => code(row.pod)],
  ["Address", (row) => (row.address ? code(row.address) : chip("warned", "not yet published"))],
  ["Profile", (row) => (profileOf.has(row.namespace) ? link("profiles", profileOf.get(row.namespace)) : "")],
  ["Created", (row) => (row.created ? h("time", { datetime: row.created }, row.created.replace("T", " ").replace("Z", " UTC")) : "")],
];

/** Name a row as links and the filter know it: `default/rdma-net`, `research`, `research/bert-3f9a01c2de`. */
const nameOf = (row) => (row.job ? `${row.namespace}/${row.job}` : row.namespace ? `${row.namespace}/${row.name}` : row.name);

const filtersOf = {}; // what each view was filtered by, until the page is left

function showTable(view, rows, columns, noun, empty) {
  if (!rows.length) {
    holder(view).replaceChildren(h("p", { class: "nothing" }, empty));
    return;
  }
  const body = h("tbody");
  const table = h(
    "table",
    { class: "known" },
    h("caption", { class: "unseen" }, view),
    h("thead", {}, h("tr", {}, columns.map(([title]) => h("th", { scope: "col" }, title)))),
    body,
  );
  const found = h("p", { class: "hint", role: "status" });
  const input = h("input", { id: `${view}-filter`, type: "search", spellcheck: "false", autocomplete: "off", oninput: fill });
  input.value = filtersOf[view] ?? "";
  holder(view).replaceChildren(h("p", { class: "filter-by" }, h("label", { for: input.id }, `Filter ${view}`), input, found), table);
  fill();

  function fill() {
    const wanted = (filtersOf[view] = input.value).trim().toLowerCase();
    const holds = (row) => `${nameOf(row)} ${Object.values(row).join(" ")}`.toLowerCase().includes(wanted);
    const exact = rows.filter((row) => nameOf(row) === input.value); // a link leads to one
    const chosen = !wanted ? rows : exact.length ? exact : rows.filter(holds);
    found.textContent = wanted ? `${count(chosen.length, noun)} of ${rows.length.toLocaleString("en")}` : "";
    body.replaceChildren();
    while (table.nextElementSibling?.matches(".more")) table.nextElementSibling.remove();
    appendLazily(body, chosen, (row) => line(row, columns), { first: FIRST, noun, after: table });
  }
}

function line(row, columns) {
  return h("tr", { "data-name": nameOf(row) }, columns.map(([title, cell], index) => h(index ? "td" : "th", index ? { "data-title": title } : { scope: "row" }, cell(row))));
}

function showProfiles(state, links) {
  if (!state.profiles.length) {
    holder("profiles").replaceChildren(h("p", { class: "nothing" }, "There are no profiles."));
    return;
  }
  holder("profiles").replaceChildren(h("div", { class: "profiles" }, state.profiles.map((profile) => profileCard(profile, links))));
}

function profileCard(profile, { namespacesOf, known }) {
  const users = namespacesOf.get(profile.name);
  return h(
    "article",
    { class: "card profile", "data-name": profile.name },
    h("h2", {}, profile.name),
    h("p", { class: "facts users" }, users ? ["used by ", several("namespaces", users)] : "used by no namespace"),
    h("ul", { class: "wanted" }, profile.networks.map((wanted) => h("li", {}, network(wanted, known)))),
    profile.networks.length ? "" : h("p", { class: "muted" }, "No networks: it completes what a pod's own annotation asks for."),
    profile.spec && h("pre", {}, code(profile.spec)),
  );
}

function network(wanted, known) {
  const [name] = wanted.network.split("@");
  const found = known.get(name);
  const devices = wanted.resources.length ? wanted.resources : (found?.resources ?? []);
  const isOwn = !name.includes("/");
  return [
    found ? link("networks", name, wanted.network) : code(wanted.network),
    found || isOwn ? "" : chip("denied", "does not exist"),
    h("span", { class: "muted" }, devices.length ? devices.map((device) => `${wanted.count} × ${device}`).join(", ") : "no device"),
  ];
}

const pairs = (map) => Object.entries(map).map(([key, value]) => code(`${key}=${plain(value)}`));
