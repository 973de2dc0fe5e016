/* Arrow keys in the picture of a workflow: along the lines to the states after and before, and to those beside.

   Without this script every state is a link that the Tab key reaches. The picture may be replaced at any time, so
   nothing of it is kept here. */

const STEPS = { ArrowDown: after, ArrowUp: before, ArrowRight: (link) => beside(link, 1), ArrowLeft: (link) => beside(link, -1) };

function links() {
  return [...document.querySelectorAll("[data-graph] a.dcf-link")];
}

function pathOf(link) {
  return link.querySelector("[data-state]").dataset.state;
}

function nextOf(link) {
  return JSON.parse(link.dataset.next);
}

function after(link) {
  const wanted = nextOf(link);
  return links().find((one) => wanted.includes(pathOf(one)));
}

function before(link) {
  const path = pathOf(link);
  return links().find((one) => nextOf(one).includes(path));
}

/* Beside are the states that come from the same one; without any, those next in reading order. */
function beside(link, step) {
  const all = links();
  const from = before(link);
  const paths = from ? nextOf(from) : [];
  const siblings = paths.length > 1 ? all.filter((one) => paths.includes(pathOf(one))) : all;
  return siblings[siblings.indexOf(link) + step];
}

document.addEventListener("keydown", (event) => {
  const link = event.target instanceof Element ? event.target.closest("[data-graph] a.dcf-link") : null;
  if (link === null || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const found = STEPS[event.key]?.(link);
  if (!found) return;
  event.preventDefault();
  found.focus();
  found.scrollIntoView({ block: "nearest", inline: "nearest" });
});

for (const hint of document.querySelectorAll("[data-keys]")) hint.hidden = false;
document.querySelector('[data-graph] a.dcf-link[aria-current="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
