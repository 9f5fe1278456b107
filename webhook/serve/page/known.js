// Show what the server knows: profiles, networks, namespaces and jobs.

import { $, UNSEEN, appendLazily, count, h } from "./dom.js";

const FIRST = 100; // rows shown at once

const code = (text) => h("code", {}, text.replace(UNSEEN, "\ufffd")); // a value of a profile may hold what does not show
const chip = (kind, text) => h("span", { class: `chip ${kind}` }, text);
const holder = (view) => $(view).querySelector(".held");

export function showKnown(state) {
  for (const view of ["profiles", "networks", "namespaces", "jobs"]) $(`${view}-count`).textContent = state[view].length.toLocaleString("en");
  showProfiles(state);
  showTable("networks", state.networks, NETWORKS, "network", "No NetworkAttachmentDefinition is known. Is Multus installed?");
  showTable("namespaces", [...state.namespaces].sort(labelledFirst), NAMESPACES, "namespace", "No namespace is known.");
  showTable("jobs", state.jobs, JOBS, "job", "No injected rank 0 is alive. A job is listed from the moment its rank 0 is created.");
}

export const labelledFirst = (one, other) => Boolean(other.profile) - Boolean(one.profile);

const NETWORKS = [
  ["Network", (row) => code(`${row.namespace}/${row.name}`)],
  ["Devices", (row) => row.resources.map(code)],
  ["Addresses", (row) => (row.givesAddresses ? "yes" : chip("left", "no IPAM"))],
  ["Nodes", (row) => pairs(row.nodeSelector)],
  ["Fault", (row) => (row.problem ? h("span", { class: "fault" }, row.problem) : "")],
];
const NAMESPACES = [
  ["Namespace", (row) => code(row.name)],
  ["Profile", (row) => (row.profile ? code(row.profile) : h("span", { class: "muted" }, "none"))],
  ["Mode", (row) => (row.observed ? chip("observed", "observe") : row.profile ? "inject" : "")],
  ["Pod security", (row) => row.podSecurity],
];
const JOBS = [
  ["Namespace", (row) => code(row.namespace)],
  ["Job", (row) => code(row.job)],
  ["Rank 0", (row) => code(row.pod)],
  ["Address", (row) => (row.address ? code(row.address) : chip("warned", "not yet published"))],
  ["Created", (row) => (row.created ? h("time", { datetime: row.created }, row.created.replace("T", " ").replace("Z", " UTC")) : "")],
];

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
    const chosen = wanted ? rows.filter((row) => Object.values(row).join(" ").toLowerCase().includes(wanted)) : rows;
    found.textContent = wanted ? `${count(chosen.length, noun)} of ${rows.length.toLocaleString("en")}` : "";
    body.replaceChildren();
    while (table.nextElementSibling?.matches(".more")) table.nextElementSibling.remove();
    appendLazily(body, chosen, (row) => line(row, columns), { first: FIRST, noun, after: table });
  }
}

function line(row, columns) {
  return h("tr", {}, columns.map(([title, cell], index) => h(index ? "td" : "th", index ? { "data-title": title } : { scope: "row" }, cell(row))));
}

function showProfiles(state) {
  if (!state.profiles.length) {
    holder("profiles").replaceChildren(h("p", { class: "nothing" }, "There are no profiles."));
    return;
  }
  const known = new Map(state.networks.map((network) => [`${network.namespace}/${network.name}`, network]));
  const users = new Map();
  for (const { name, profile } of state.namespaces) if (profile) users.set(profile, [...(users.get(profile) ?? []), name]);
  holder("profiles").replaceChildren(
    h("div", { class: "profiles" }, state.profiles.map((profile) => profileCard(profile, users.get(profile.name) ?? [], known))),
  );
}

function profileCard(profile, namespaces, known) {
  const settings = Object.entries(profile.settings);
  const used = namespaces.length > 3 ? `${namespaces.slice(0, 3).join(", ")} and ${namespaces.length - 3} more` : namespaces.join(", ");
  return h(
    "article",
    { class: "card profile" },
    h("h2", {}, profile.name),
    h("p", { class: "facts" }, h("span", {}, used ? `used by ${used}` : "used by no namespace")),
    h("ul", { class: "wanted" }, profile.networks.map((wanted) => h("li", {}, network(wanted, known)))),
    profile.networks.length ? "" : h("p", { class: "muted" }, "No networks: it completes what a pod's own annotation asks for."),
    settings.length ? h("dl", {}, settings.map(([key, value]) => [h("dt", {}, key), h("dd", {}, written(value))])) : "",
  );
}

function network(wanted, known) {
  const [name] = wanted.network.split("@");
  const found = known.get(name);
  const devices = wanted.resources.length ? wanted.resources : (found?.resources ?? []);
  const isOwn = !name.includes("/");
  return [
    code(wanted.network),
    found || isOwn ? "" : chip("denied", "does not exist"),
    h("span", { class: "muted" }, devices.length ? devices.map((device) => `${wanted.count} × ${device}`).join(", ") : "no device"),
  ];
}

const pairs = (map) => Object.entries(map).map(([key, value]) => code(`${key}=${value}`));

function written(value) {
  if (Array.isArray(value)) return value.map(code);
  return value !== null && typeof value === "object" ? pairs(value) : code(String(value));
}
