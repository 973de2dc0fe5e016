/* Keeps a page current. Without this script the page is a snapshot, and right.

   What a page must have, and nothing else of it is known here:
   - data-live-stream="ADDRESS" data-live-after="ID"   one element, hidden: where the events come from, and after which
     event the page was made. The line that says "live", with its button, is built in it.
   - data-live="NAME"   a fragment. When the server says so, the page's own address is fetched again, and each fragment
     is merged with the one of the same name: elements that are on both sides stay, so that focus, selection, open
     <details> and what was typed are kept. A fragment must be on the page when it is empty, too.
   - data-key="KEY"   a row or another element of a list, so that it stays itself when others come before it.
   - data-live-keep="NAMES"   attributes of an element that another script has set; with no names: leave all of it alone.
   - data-state="PATH" (a group of the picture), data-status-of="PATH" (a cell), data-count="NAME", data-run="RUN": are
     given the new status or number at once, before the fragments come.

   Other scripts: the document gets "dcf:refreshed" after fragments were merged, and listens to "dcf:refresh", which has
   them fetched at once (after history.pushState, say). */

const MARKS = { pending: "·", running: "▶", succeeded: "✔", failed: "✘", cancelled: "◼", skipped: "-" };
const ENDS = new Set(["succeeded", "failed", "cancelled"]);
const RUN_ENDS = {
  RunSucceeded: "The run succeeded.", RunFailed: "The run failed.", RunCancelled: "The run was cancelled.",
  RunTimedOut: "The run timed out.", RunPaused: "The run is paused.", RunResumed: "The run continues.",
};
const TYPED = new Set(["INPUT", "SELECT", "TEXTAREA", "OPTION"]);
const OWN = new Set(["value", "checked", "selected"]);
const SPEAK_MS = 1000;
const LONGEST_WAIT_MS = 30000;

/* Merging: the first becomes what the second is, with as few changes as possible. */

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE
    ? node.dataset?.key ?? node.dataset?.live ?? node.dataset?.state ?? (node.id || null)
    : null;
}

function isAlike(node, other) {
  return node.nodeType === other.nodeType && node.nodeName === other.nodeName && keyOf(node) === keyOf(other);
}

function mergeAttributes(node, wanted) {
  const kept = new Set((node.dataset?.liveKeep ?? "").split(" "));
  const isTyped = TYPED.has(node.nodeName) && node.type !== "hidden";
  const stays = (name) =>
    kept.has(name) || (name === "open" && /^(DETAILS|DIALOG)$/.test(node.nodeName)) || (isTyped && OWN.has(name));
  for (const { name } of [...node.attributes]) {
    if (!stays(name) && !wanted.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (!stays(name) && node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}

function mergeChildren(node, wanted) {
  const keyed = new Map();
  for (const child of node.children) {
    const key = keyOf(child);
    if (key !== null) keyed.set(`${child.nodeName} ${key}`, child);
  }
  let at = node.firstChild;
  for (const child of wanted.childNodes) {
    if (child.nodeName === "SCRIPT") continue;
    const key = keyOf(child);
    const found = key !== null ? keyed.get(`${child.nodeName} ${key}`) : at && isAlike(at, child) ? at : undefined;
    if (found === undefined) {
      node.insertBefore(document.importNode(child, true), at);
    } else {
      if (found === at) at = at.nextSibling;
      else node.insertBefore(found, at);
      merge(found, child);
    }
  }
  while (at !== null) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function merge(node, wanted) {
  if (node.nodeType !== Node.ELEMENT_NODE) {
    if (node.nodeValue !== wanted.nodeValue) node.nodeValue = wanted.nodeValue;
  } else if (node.dataset?.liveKeep !== "" && !node.isEqualNode(wanted)) {
    mergeAttributes(node, wanted);
    mergeChildren(node, wanted);
  }
}

/* What had the focus, if it was replaced, is found again by what it is. */
function focusKeeper() {
  const held = document.activeElement;
  if (held === null || held === document.body) return () => {};
  const marks = ["id", "href", "data-state", "name", "aria-label"].filter((name) => held.getAttribute(name));
  const path = marks.length ? `${held.nodeName}[${marks[0]}="${CSS.escape(held.getAttribute(marks[0]))}"]` : null;
  return () => {
    if (!held.isConnected && path !== null) document.querySelector(path)?.focus({ preventScroll: true });
  };
}

function mergePage(fetched) {
  const restoreFocus = focusKeeper();
  for (const fragment of document.querySelectorAll("[data-live]")) {
    const path = `[data-live="${CSS.escape(fragment.dataset.live)}"]`;
    const wanted = fetched.querySelector(path);
    if (wanted !== null && fragment.isConnected && !fragment.parentElement.closest("[data-live]")) merge(fragment, wanted);
  }
  document.title = fetched.title;
  restoreFocus();
  document.dispatchEvent(new CustomEvent("dcf:refreshed"));
}

/* Changes that need no HTML. */

function setText(node, text) {
  if (node !== null && node.textContent !== text) node.textContent = text;
}

function named(attribute, value) {
  return document.querySelectorAll(`[${attribute}="${CSS.escape(value)}"]`);
}

function setStatus(path, status) {
  for (const group of named("data-state", path)) {
    if (group.dataset.status === status) continue;
    const said = group.getAttribute("aria-label") ?? "";
    const label = `${said.slice(0, Math.max(0, said.lastIndexOf(": ")))}: ${status}`;
    group.classList.remove(...[...group.classList].filter((name) => name === `dcf-${group.dataset.status}`));
    if (status !== "pending") group.classList.add(`dcf-${status}`);
    group.dataset.status = status;
    group.setAttribute("aria-label", label);
    setText(group.querySelector(":scope > title"), label);
    setText(group.querySelector(":scope > .dcf-note > .dcf-word"), `${MARKS[status] ?? "?"} ${status}`);
  }
  for (const cell of named("data-status-of", path)) setWord(cell, status);
}

function setWord(cell, word) {
  cell.className = word.replace(/[^a-z]/gi, "");
  setText(cell, `${MARKS[word] ?? (word === "stuck" ? "!" : "◐")} ${word}`);
}

function setCounts(counts) {
  for (const [name, count] of Object.entries(counts)) {
    for (const node of named("data-count", name)) setText(node, String(count));
  }
}

/* One line of the page that says how it is connected, its button, and what is said to screen readers. */

class Line {
  constructor(root, pressed) {
    this.sign = document.createElement("span");
    this.sign.className = "live-sign";
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.addEventListener("click", pressed);
    this.spoken = document.createElement("span");
    this.spoken.className = "live-spoken";
    this.spoken.setAttribute("role", "status");
    root.append(this.sign, this.button, this.spoken);
    root.hidden = false;
    this.waiting = [];
    this.show("waiting", "Connecting", "Pause updates");
  }

  show(state, text, button) {
    this.sign.dataset.is = state;
    setText(this.sign, text);
    this.button.hidden = button === null;
    setText(this.button, button ?? "");
  }

  say(sentence) {
    if (this.waiting.length === 0) setTimeout(() => this.speak(), SPEAK_MS);
    this.waiting.push(sentence);
  }

  speak() {
    const told = this.waiting.length > 5 ? [`${this.waiting.length} changes.`, ...this.waiting.slice(-2)] : this.waiting;
    this.spoken.textContent = told.join(" ");
    this.waiting = [];
  }
}

class Page {
  constructor(root) {
    this.address = root.dataset.liveStream;
    this.last = root.dataset.liveAfter;
    this.line = new Line(root, () => this.toggle());
    this.source = null;
    this.isPaused = false;
    this.isOver = false;
    this.failures = 0;
    this.timer = null;
    this.fetching = null;
    this.next = null;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    document.addEventListener("dcf:refresh", () => this.refresh());
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", () => this.open());
    this.open();
  }

  toggle() {
    this.isPaused = !this.isPaused;
    if (this.isPaused) {
      this.close();
      this.line.show("paused", "Paused", "Resume updates");
    } else {
      this.line.show("waiting", "Connecting", "Pause updates");
      this.open();
    }
  }

  end(text) {
    this.isOver = true;
    this.close();
    this.line.show("over", text, null);
    this.line.say(text);
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  open() {
    if (this.source !== null || this.isPaused || this.isOver || document.hidden) return;
    clearTimeout(this.timer);
    const address = new URL(this.address, location.href);
    if (this.last) address.searchParams.set("after", this.last);
    const source = (this.source = new EventSource(address));
    source.onopen = () => {
      this.failures = 0;
      this.line.show("on", "Live", "Pause updates");
    };
    source.onerror = () => this.lost(source);
    for (const name of ["happened", "changed", "reset", "refresh", "ended"]) {
      source.addEventListener(name, (event) => {
        if (event.lastEventId) this.last = event.lastEventId;
        this[name](JSON.parse(event.data));
      });
    }
  }

  /* The browser tries again by itself when a stream ended, but not when it was refused. */
  lost(source) {
    if (source !== this.source) return;
    this.line.show("lost", "Not connected, trying again", "Pause updates");
    if (source.readyState !== EventSource.CLOSED) return;
    this.source = null;
    this.failures += 1;
    this.timer = setTimeout(() => this.open(), Math.min(LONGEST_WAIT_MS, 1000 * 2 ** this.failures));
    this.refresh();
  }

  happened({ events }) {
    for (const event of events) {
      if (event.status) this.setStatus(event.state, event.status);
      if (ENDS.has(event.status)) this.line.say(`${event.name}: ${event.status}.`);
      if (RUN_ENDS[event.type]) this.line.say(RUN_ENDS[event.type]);
    }
  }

  /* HTML that is asked for may be from before the event, so the status is set again after it was merged. */
  setStatus(path, status) {
    setStatus(path, status);
    for (const asked of [this.fetching, this.next]) asked?.since.set(path, status);
  }

  changed({ counts, rows }) {
    setCounts(counts);
    for (const [run, word] of Object.entries(rows)) for (const cell of named("data-run", run)) setWord(cell, word);
    const told = Object.entries(counts).map(([name, count]) => `${count} ${name === "runs" ? "runs" : name}`);
    if (told.length) this.line.say(`${told.join(", ")}.`);
  }

  reset({ states, counts, rows }) {
    for (const [path, status] of Object.entries(states ?? {})) setStatus(path, status);
    if (counts) this.changed({ counts, rows });
  }

  ended({ why }) {
    this.end(`${why} Load the page again.`);
  }

  /* The version is the server's: all pages that were told the same one are answered with the same HTML. */
  async refresh({ version } = {}) {
    this.next = { version, since: new Map() };
    if (this.fetching !== null) return;
    while (this.next !== null && !this.isOver) {
      this.fetching = this.next;
      this.next = null;
      await this.fetchPage(this.fetching);
    }
    this.fetching = null;
  }

  async fetchPage({ version, since }) {
    const asked = location.pathname + location.search;
    const answer = await fetchText(asked, version);
    if (answer === null) return; /* The line says it already; what was missed comes after the next connection. */
    if (answer.status === 404) this.end("This page no longer exists.");
    else if (answer.status === 401 || answer.status === 403 || answer.isElsewhere) {
      this.end("You can no longer see this page. Load it again.");
    } else if (asked !== location.pathname + location.search) {
      this.next ??= { since: new Map() };
    } else if (answer.status === 200) {
      mergePage(new DOMParser().parseFromString(answer.text, "text/html"));
      for (const [path, status] of since) setStatus(path, status);
    }
  }
}

/* What was answered; null without a connection. The header also says that the page asks by itself, not its reader. */
async function fetchText(address, version) {
  try {
    const answer = await fetch(address, { headers: { "dcf-version": version ?? "" } });
    return { status: answer.status, isElsewhere: answer.ok && answer.redirected, text: await answer.text() };
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

const root = document.querySelector("[data-live-stream]");
if (root !== null) new Page(root);
