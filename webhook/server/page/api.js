// Ask the server. Every failure becomes a Problem that a person can act on.

const GONE = "The server does not answer. Is kubectl port-forward, or fabric-injector, still running?";

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
    const place = /\bline (\d+), column (\d+)/.exec(message);
    this.line = status === 400 && place ? Number(place[1]) : 0;
    this.column = this.line ? Number(place[2]) : 0;
  }
}

export const askState = async () => (await ask("state")).json();
export const askSample = async (path) => (await ask(`page/${path}`)).text();

/** Judge a manifest; an empty namespace or profile is left to the server. */
export async function judge(text, namespace, profile, signal) {
  const query = new URLSearchParams({ output: "page" });
  if (namespace) query.set("namespace", namespace);
  if (profile) query.set("profile", profile);
  const headers = { "Content-Type": "application/yaml" };
  return (await ask(`dry-run?${query}`, { method: "POST", headers, body: text, signal })).json();
}

async function ask(url, options = {}) {
  let response;
  try {
    response = await fetch(url, { ...options, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(GONE);
  }
  if (!response.ok) throw new Problem(await message(response), response.status);
  return response;
}

async function message(response) {
  if (response.status === 413) return "The manifest is larger than the server takes. Paste fewer objects at once.";
  try {
    return (await response.json()).message;
  } catch {
    return `The server answered ${response.status} ${response.statusText}.`;
  }
}
