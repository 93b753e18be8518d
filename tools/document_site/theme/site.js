// The search. MkDocs' own worker (search/worker.js, with lunr) reads the index and finds; here are the field and the results.
// Nothing of it is loaded before somebody goes to the field.
"use strict";
(() => {
  const SHOWN = 20;
  const EXCERPT = 180;
  const base = document.documentElement.dataset.base;
  const field = document.getElementById("site-query");
  const results = document.getElementById("site-results");
  const [status, list] = [results.querySelector("p"), results.querySelector("ol")];
  let worker;
  let isReady = false;
  /** Whether the last question was for all words. */
  let isForAll = false;
  /** Questions that the worker has not answered. */
  let asked = 0;

  /** What is typed, word by word as in the index, without the characters that lunr takes for commands. */
  const words = () => field.value.toLowerCase().split(/[\s^~+*/,:;()[\]"`=|]+/).map((word) => word.replace(/^\W+|\W+$/g, "")).filter(Boolean);

  function search() {
    const wanted = words();
    results.hidden = wanted.join("").length < 2;
    if (results.hidden) return;
    status.textContent = isReady ? "" : "Loading the index";
    if (!isReady) return;
    isForAll = true;
    ask(wanted, "+");
  }

  /** The last word may not be finished. */
  function ask(wanted, before) {
    const all = wanted.map((word) => word.replace(/-/g, "\\-")); // which would separate words
    const last = all.pop();
    asked += 1;
    worker.postMessage({ query: [...all.map((word) => before + word), last, `${last}*`].join(" ") });
  }

  /** A section whose title has the words comes before one that only speaks of them. */
  function ranked(found) {
    const wanted = words();
    const rank = ({ title }) => wanted.filter((word) => title.toLowerCase().includes(word)).length;
    return found.map((one) => [rank(one), one]).sort(([a], [b]) => b - a).map(([, one]) => one);
  }

  function show(found) {
    asked -= 1;
    if (results.hidden || asked > 0) return; // more was typed meanwhile
    // Common words, such as "no", are in no index: then some of the words have to do.
    if (found.length === 0 && isForAll) {
      isForAll = false;
      ask(words(), "");
      return;
    }
    status.textContent = found.length === 0 ? "Nothing was found" : found.length > SHOWN ? `The first ${SHOWN} of ${found.length} results` : found.length === 1 ? "1 result" : `${found.length} results`;
    if (list.contains(document.activeElement)) field.focus(); // a result that goes takes the focus along
    list.replaceChildren(...ranked(found).slice(0, SHOWN).map(entry));
  }

  function entry({ location, title, text }) {
    const [item, link, part] = ["li", "a", "p"].map((name) => document.createElement(name));
    link.href = `${base}/${location}`;
    link.textContent = title;
    part.textContent = excerpt(text);
    item.append(link, part);
    return item;
  }

  /** The text around the first word that stands in it. */
  function excerpt(text) {
    const all = text.toLowerCase();
    const places = words().map((word) => all.indexOf(word)).filter((place) => place >= 0);
    const begin = places.length === 0 ? 0 : Math.max(0, text.lastIndexOf(" ", Math.max(0, Math.min(...places) - EXCERPT / 3)) + 1);
    return (begin > 0 ? "... " : "") + text.slice(begin, begin + EXCERPT) + (begin + EXCERPT < text.length ? " ..." : "");
  }

  function start() {
    if (worker) return;
    worker = new Worker(`${base}/search/worker.js`);
    worker.onmessage = ({ data }) => {
      if (data.results) show(data.results);
      if (!data.allowSearch) return;
      isReady = true;
      search();
    };
    worker.onerror = () => { status.textContent = "The search does not work here"; };
    worker.postMessage({ init: true });
  }

  field.addEventListener("focus", start);
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    search();
  });
  list.addEventListener("click", () => { results.hidden = true; });

  // What scrolls sideways can be scrolled with the keyboard.
  const seen = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".table, #site-documents").forEach((one) => seen.observe(one));
})();
