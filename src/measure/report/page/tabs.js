// Tabs over sections that stand one below the other without script (WAI-ARIA tabs pattern): arrow
// keys, Home and End move; links into a hidden panel open it.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  const select = (tab, focus) => {
    const list = tab.closest(".tabs");
    for (const other of list.querySelectorAll("[role=tab]")) {
      const on = other === tab;
      other.setAttribute("aria-selected", String(on));
      other.tabIndex = on ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !on;
    }
    if (focus) tab.focus();
    document.dispatchEvent(new CustomEvent("panelshown"));
  };

  const move = (event) => {
    const tabs = [...event.currentTarget.querySelectorAll("[role=tab]")];
    const at = tabs.indexOf(document.activeElement);
    if (at < 0) return;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(tabs[(to + tabs.length) % tabs.length], true);
  };

  for (const list of document.querySelectorAll(".tabs")) {
    list.setAttribute("role", "tablist");
    list.addEventListener("keydown", move);
    const tabs = [...list.querySelectorAll("a")];
    for (const tab of tabs) {
      const id = tab.getAttribute("href").slice(1);
      const panel = document.getElementById(id);
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", id);
      tab.id = id + "-tab";
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      panel.tabIndex = 0;
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        select(tab, true);
        history.replaceState(null, "", "#" + id);
      });
      tab.addEventListener("keydown", (event) => {
        if (event.key === " ") { event.preventDefault(); tab.click(); }
      });
    }
    if (tabs.length) select(tabs[0], false);
  }

  // Opens every panel and every fold around an element, and goes there.
  const reveal = (id) => {
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let at = target; at; at = at.parentElement) {
      if (at.getAttribute("role") === "tabpanel" && at.hidden) {
        select(document.getElementById(at.id + "-tab"), false);
      }
      if (at.tagName === "DETAILS") at.open = true;
    }
    target.scrollIntoView({ block: "start" });
    if (target.tagName === "DETAILS") target.querySelector("summary").focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#run-']");
    if (!link) return;
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    reveal(link.getAttribute("href").slice(1));
  });
  addEventListener("hashchange", () => reveal(location.hash.slice(1)));
  addEventListener("popstate", () => reveal(location.hash.slice(1)));
  addEventListener("load", () => reveal(location.hash.slice(1)));

  // On paper everything is unfolded.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
})();
