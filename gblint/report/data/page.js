"use strict";
(() => {
  const page = document.documentElement;
  const form = document.querySelector("form[role=search]");
  const count = document.getElementById("count");
  const nothing = document.getElementById("nothing");
  const findings = [...document.querySelectorAll("details.finding")].map((el) => ({
    el,
    head: el.querySelector("summary"),
    text: el.querySelector("summary").textContent.toLowerCase(),
    ...el.dataset,
  }));
  const roots = [...document.querySelectorAll("section.root")].map((el) => ({
    el,
    parts: [...el.querySelectorAll(".part")],
    link: document.querySelector(`nav a[href="#${el.getAttribute("aria-labelledby")}"]`),
    empty: !el.querySelector("details.finding"),
  }));

  // ------------------------------------------------------------------------------------------------------- filters

  const value = (name) => form.elements[name]?.value ?? "";

  function filter() {
    const words = value("text").toLowerCase().split(/\s+/).filter(Boolean);
    const least = Number(value("confidence"));
    const same = ["rule", "file", "owner", "verdict"].map((name) => [name, value(name)]).filter(([, wanted]) => wanted);
    const hot = form.elements.hot.checked;
    let left = 0;
    for (const f of findings) {
      const stays =
        f.confidence >= least &&
        (!hot || f.hot !== undefined) &&
        same.every(([name, wanted]) => f[name] === wanted) &&
        words.every((word) => f.text.includes(word));
      f.el.hidden = !stays;
      left += stays;
    }
    const all = left === findings.length;
    for (const { el, parts, link, empty } of roots) {
      let inside = 0;
      for (const part of parts) {
        const here = part.querySelectorAll("details.finding:not([hidden])").length;
        part.hidden = !here;
        inside += here;
      }
      el.hidden = !(inside || (empty && all));
      link.parentElement.hidden = el.hidden;
      link.lastElementChild.textContent = inside;
    }
    form.elements.least.value = `${least}%`;
    count.textContent = all ? `${left} shown` : `${left} of ${findings.length} shown`;
    nothing.hidden = Boolean(left) || all;
  }

  let waiting = 0;
  function soon() {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 80);
  }
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());

  // ---------------------------------------------------------------------------------------------------- moving about

  function show(id) {
    const found = findings.find((f) => f.el.id === id);
    if (!found) return;
    if (found.el.hidden) {
      form.reset();
      filter();
    }
    found.el.open = true;
    found.head.focus({ preventScroll: true });
    found.el.scrollIntoView({ block: "start" });
  }

  function step(by) {
    const visible = findings.filter((f) => !f.el.hidden);
    const here = document.activeElement?.closest("details.finding");
    const at = visible.findIndex((f) => f.el === here);
    const next = visible[at < 0 ? (by > 0 ? 0 : visible.length - 1) : at + by];
    if (!next) return;
    next.head.focus({ preventScroll: true });
    next.head.scrollIntoView({ block: "nearest" });
  }

  window.addEventListener("hashchange", () => show(location.hash.slice(1)));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#f']");
    if (link) show(link.getAttribute("href").slice(1)); // also when the address is the same as before
  });

  // In a narrow window the filters stand above the findings, and are folded up.
  const fold = document.querySelector(".fold");
  const narrow = matchMedia("(max-width: 60rem)");
  const fit = () => (fold.open = !narrow.matches);
  narrow.addEventListener("change", fit);

  // ---------------------------------------------------------------------------------------------------------- theme

  const themes = ["auto", "dark", "light"];
  const button = document.getElementById("theme");
  let theme = "auto";
  try {
    theme = localStorage.getItem("gblint-theme") ?? "auto";
  } catch {
    // a page from a file may have no storage
  }

  function paint(name) {
    theme = themes.includes(name) ? name : "auto";
    if (theme === "auto") delete page.dataset.theme;
    else page.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  }

  function turn() {
    paint(themes[(themes.indexOf(theme) + 1) % themes.length]);
    try {
      localStorage.setItem("gblint-theme", theme);
    } catch {
      // then it lasts as long as the page
    }
  }

  button.addEventListener("click", turn);

  // ----------------------------------------------------------------------------------------------------------- keys

  const keys = document.getElementById("keys");
  const help = () => (keys.open ? keys.close() : keys.showModal());
  document.getElementById("help").addEventListener("click", help);

  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=search], select, textarea");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      j: () => step(1),
      k: () => step(-1),
      "/": () => {
        fold.open = true;
        form.elements.text.focus();
      },
      d: turn,
      "?": help,
    };
    const action = keys.open && event.key !== "?" ? undefined : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  for (const el of [form, button, document.getElementById("help")]) el.hidden = false;
  paint(theme);
  fit();
  filter();
  show(location.hash.slice(1));
})();
