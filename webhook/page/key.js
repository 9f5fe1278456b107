// The key of the page, without which fabric-injector page answers nothing.
// The printed address holds one after its #, which browsers send nowhere. It is good once: the page exchanges it for a key of its own,
// which it keeps while its tab is open. A cookie would not do: browsers send it to every port of this machine.

const NAME = "key";
const GIVEN = /^#key=([\w-]+)$/;

addEventListener("hashchange", () => GIVEN.test(location.hash) && location.reload()); // a new address in a tab that is open

const given = GIVEN.exec(location.hash)?.[1];
if (given) {
  history.replaceState(null, "", location.pathname); // before anything else: it is for nobody's history
  const own = await exchange(given);
  if (own) sessionStorage.setItem(NAME, own);
}
const key = sessionStorage.getItem(NAME);

/** The headers that go with each question. */
export const keyHeaders = key ? { Authorization: `Bearer ${key}` } : {};

async function exchange(once) {
  try {
    const response = await fetch("session", { method: "POST", headers: { Authorization: `Bearer ${once}` }, credentials: "omit" });
    return response.ok ? (await response.json()).key : "";
  } catch {
    return ""; // the first question then tells what is wrong
  }
}
