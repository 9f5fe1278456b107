// Ask the server. Every failure becomes a Problem that a person can act on.

import { megabytes } from "./dom.js";
import { keyHeaders } from "./key.js";

const GONE = "The server does not answer. Is fabric-injector page still running?";
const CUT = "The server's answer ended early. Is fabric-injector page still running? Ask again.";

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
    const place = /\bline (\d+), column (\d+)/.exec(message);
    this.line = status === 400 && place ? Number(place[1]) : 0;
    this.column = this.line ? Number(place[2]) : 0;
  }
}

export const get = async (path) => read(await ask(path), "json");
export const askState = () => get("state");
export const askSample = async (path) => read(await ask(`page/${path}`), "text");

/** Judge a manifest; an empty namespace or profile is left to the server. */
export async function judge(text, namespace, profile, signal) {
  const query = new URLSearchParams();
  if (namespace) query.set("namespace", namespace);
  if (profile) query.set("profile", profile);
  const headers = { "Content-Type": "application/yaml" };
  return read(await ask(`dry-run?${query}`, { method: "POST", headers, body: text, signal }), "json");
}

async function ask(url, options = {}) {
  let response;
  try {
    response = await fetch(url, { ...options, headers: { ...options.headers, ...keyHeaders }, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(GONE);
  }
  if (!response.ok) throw new Problem(await message(response, options.body), response.status);
  return response;
}

/** Read an answer to its end, which a server that dies does not send. */
async function read(response, form) {
  try {
    return await response[form]();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(CUT);
  }
}

async function message(response, sent = "") {
  if (response.status === 413) return `The manifest of ${megabytes(sent)} is larger than the page takes. Give fewer objects at once, or run fabric-injector dry-run -f FILE.`;
  const plain = `The server answered ${response.status} ${response.statusText}.`;
  try {
    return (await response.json()).message || plain;
  } catch {
    return plain;
  }
}
