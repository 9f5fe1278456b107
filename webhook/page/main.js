// Wire the page: the form, the samples, the views.

import { Problem, askSample, askState, judge } from "./api.js";
import { $, count, h, say } from "./dom.js";
import { Editor } from "./editor.js";
import { addLocalViews } from "./local.js";
import { headline, showResults } from "./results.js";

const VIEWS = ["dry-run"];
const STALE = 5000; // milliseconds after which a look at the page asks the server anew
const EXAMPLE = "research"; // the namespace in which the README runs its example
const LONG = 10_000; // milliseconds without an answer after which the page says what may be wrong
const WAITING = "No answer for 10 seconds. A manifest of many pods takes long; else see whether fabric-injector page still runs.";
/** Manifests to start from. */
const SAMPLES = [
  { path: "samples/torchx.yaml", title: "TorchX job", about: "dist.ddp on Volcano: two ranks, c10d" },
  { path: "samples/pytorchjob.yaml", title: "PyTorchJob", about: "a Kubeflow master and three workers" },
  { path: "samples/jobset.yaml", title: "JobSet", about: "an indexed Job that names its own rank 0" },
  { path: "samples/web.yaml", title: "A Deployment that does not train", about: "and stays as it is" },
  { path: "samples/refused.yaml", title: "A pod that could never start", about: "its network does not exist" },
];
let state = { namespaces: [], profiles: [], problems: [] };
let told = ""; // the last state as text: what has not changed is not drawn anew
let isDrawn = false;
let askedAt = 0;
let running = null;
let waiting = 0;
const editor = new Editor(changed);

// --- what the server knows

async function refresh() {
  askedAt = Date.now();
  const late = setTimeout(() => server("no answer yet", "gone"), LONG);
  try {
    const next = await askState();
    server("live", "live");
    const text = JSON.stringify(next);
    if (text === told) return;
    const added = next.local && !state.local ? addLocalViews(next.local) : [];
    state = next;
    draw();
    told = text;
    VIEWS.push(...added);
    if (added.length) showView(false);
  } catch (error) {
    const isOurs = !(error instanceof Problem); // of drawing
    server(isOurs ? "this page failed: reload it" : error.status ? error.message : "server gone", "gone");
    if (isOurs) throw error; // the browser's console says where
    setTimeout(refreshIfStale, STALE + 1); // a server that comes back is seen without a click
  } finally {
    clearTimeout(late);
  }
}

function server(text, look) {
  [$("server").textContent, $("server").className] = [text, look];
}

function refreshIfStale() {
  if (!document.hidden && Date.now() - askedAt > STALE) refresh();
}

function draw() {
  $("version").textContent = state.version;
  $("troubles").hidden = !state.problems.length;
  $("troubles").replaceChildren(...state.problems.map((problem) => h("p", {}, problem)));
  const described = ({ name, profile }) => h("option", { value: name, label: profile ? `${name}, profile ${profile}` : name });
  const byLabel = [...state.namespaces].sort((one, other) => Boolean(other.profile) - Boolean(one.profile));
  $("known-namespaces").replaceChildren(...byLabel.map(described));
  const chosen = $("profile").value;
  const options = state.profiles.map(({ name }) => h("option", { value: name }, name));
  $("profile").replaceChildren(h("option", { value: "" }, "by label"), ...options);
  $("profile").value = state.profiles.some(({ name }) => name === chosen) ? chosen : "";
  hint();
  if (!isDrawn) showView(false); // to what the address names, which is there only now
  isDrawn = true;
}

function held(name) {
  return state.namespaces.find((namespace) => namespace.name === name);
}

function hint() {
  const name = $("namespace").value.trim();
  const found = held(name);
  const labelled = found && (found.profile ? `its label says profile ${found.profile}` : "carries no profile label");
  const observes = found?.observed ? "; it only observes" : "";
  $("namespace-hint").textContent = !name ? "of objects that name none" : found ? labelled + observes : "not known to this server";
  $("namespace-hint").classList.toggle("warned", Boolean(name) && !found);
  $("profile-hint").textContent = $("profile").value ? "in place of all labels" : "the pod's label, else the namespace's";
}

// --- samples

function sampleButton(sample) {
  return h(
    "button",
    { type: "button", class: "sample", onclick: () => take(sample) },
    h("strong", {}, sample.title),
    h("span", {}, sample.about),
  );
}

/** Put a sample into the editor, in a namespace where it shows something, and judge it. */
async function take(sample) {
  try {
    editor.text = await askSample(sample.path);
  } catch (error) {
    editor.tell(error.message);
    return;
  }
  const current = held($("namespace").value.trim());
  if (!current?.profile && !$("profile").value) {
    const usable = state.namespaces.filter(({ profile, observed }) => profile && !observed);
    const labelled = usable.find(({ name }) => name === EXAMPLE) ?? usable[0];
    if (labelled) $("namespace").value = labelled.name;
    else $("profile").value = state.profiles[0]?.name ?? "";
  }
  hint();
  run();
}

// --- the dry run

async function run() {
  running?.abort();
  const mine = (running = new AbortController());
  editor.tell("");
  busy(true);
  try {
    const answer = await judge(editor.text, $("namespace").value.trim(), $("profile").value, mine.signal);
    $("welcome").hidden = true;
    $("results").hidden = false;
    $("clear").hidden = false;
    $("results").classList.remove("old");
    showResults($("results"), answer, { ...state, text: editor.text, runIn, runWith });
    say(`${headline(answer)}. ${count(answer.ignored.filter((part) => !part.broken).length, "object")} without pods.`);
    const { top } = $("results").getBoundingClientRect();
    if (top < 0 || top > innerHeight * 0.8) $("results").scrollIntoView();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    $("results").classList.add("old");
    editor.tell(error.message, error.line, error.column);
    if (!error.status) refresh();
  } finally {
    if (running === mine) {
      running = null;
      busy(false);
    }
  }
}

function runIn(namespace) {
  [$("namespace").value, $("profile").value] = [namespace, ""];
  hint();
  run();
}

function runWith(profile) {
  $("profile").value = profile;
  hint();
  run();
}

function busy(isBusy) {
  clearTimeout(waiting);
  $("waiting").textContent = "";
  if (isBusy) waiting = setTimeout(() => ($("waiting").textContent = WAITING), LONG);
  $("judge").textContent = isBusy ? "Asking…" : "Dry run";
  $("results").setAttribute("aria-busy", String(isBusy));
}

function changed(text) {
  $("clear").hidden = !text && $("results").hidden;
  $("results").classList.add("old");
  hint();
}

function startOver() {
  running?.abort();
  editor.text = "";
  $("results").replaceChildren();
  for (const [id, isHidden] of [["welcome", false], ["results", true], ["clear", true]]) $(id).hidden = isHidden;
  $("manifest").focus();
}

// --- views

function showView(isMove) {
  const asked = location.hash.slice(1);
  if (asked && !VIEWS.includes(asked)) return;
  const view = asked || VIEWS[0];
  for (const name of VIEWS) {
    $(name).hidden = name !== view;
    const link = document.querySelector(`nav a[href="#${name}"]`);
    if (name === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const title = $(`${view}-title`);
  document.title = `${view === VIEWS[0] ? "Dry run" : title.textContent} · fabric-injector`;
  if (isMove) {
    title.focus({ preventScroll: true });
    scrollTo(0, 0);
    refreshIfStale();
  }
}

$("samples").replaceChildren(...SAMPLES.map((sample) => h("li", {}, sampleButton(sample))));
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
$("form").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  run();
});
document.querySelector(".try").addEventListener("click", () => take(SAMPLES[0]));
$("clear").addEventListener("click", startOver);
$("namespace").addEventListener("input", () => changed(editor.text));
$("profile").addEventListener("change", () => changed(editor.text));
$("refresh").addEventListener("click", refresh);
for (const field of [$("namespace"), $("profile")]) field.addEventListener("focus", refreshIfStale);
addEventListener("hashchange", () => showView(true));
document.addEventListener("visibilitychange", refreshIfStale);
showView(false);
refresh();
