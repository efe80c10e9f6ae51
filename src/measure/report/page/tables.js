// Tables that sort by their column heads, and rows that unfold.
(() => {
  "use strict";

  const key = (body, column) => {
    const cell = body.rows[0].cells[column];
    if (!cell || cell.colSpan > 1) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    return text === "" || text === "\u2013" ? null : text.toLowerCase();
  };

  // Rows without a figure stay last in both directions.
  const compare = (a, b, sign) => {
    if (a.key === null || b.key === null) {
      return (a.key === null) - (b.key === null) || a.at - b.at;
    }
    const order = typeof a.key === "number" && typeof b.key === "number"
      ? a.key - b.key
      : String(a.key).localeCompare(String(b.key), "en", { numeric: true });
    return sign * order || a.at - b.at;
  };

  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const descending = heads[column].getAttribute("aria-sort") === "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...table.tBodies].map((body, at) => ({ body, at, key: key(body, column) }));
    rows.sort((a, b) => compare(a, b, descending ? -1 : 1));
    table.append(...rows.map((row) => row.body));
  };

  for (const table of document.querySelectorAll("table.sorts")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, column));
    });
  }

  for (const button of document.querySelectorAll("button.unfold")) {
    const detail = document.getElementById(button.getAttribute("aria-controls"));
    const show = (open) => {
      detail.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    };
    button.hidden = false;
    show(false);
    button.addEventListener("click", () => show(detail.hidden));
  }

  // A table that does not scroll needs no stop of the tab key.
  const measure = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.clientWidth === 0) continue;
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("scrolls", scrolls);
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  document.addEventListener("panelshown", measure);
  addEventListener("resize", measure);
  addEventListener("load", measure);
})();
