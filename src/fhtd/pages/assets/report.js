"use strict";
/* The report: charts as they are scrolled to, pictures in the index, and the filter of claims. */
(() => {
  page.drawLater();
  for (const place of document.querySelectorAll("[data-picture-of]")) {
    const picture = document.getElementById(`picture-${place.dataset.pictureOf}`);
    const small = document.createElement("img");
    small.src = picture.src;
    small.alt = "";
    place.append(small);
  }
  const buttons = [...document.querySelectorAll(".filter button")];
  const rows = [...document.querySelectorAll(".claims tbody tr")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const wanted = button.dataset.verdict;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      for (const row of rows) row.hidden = wanted !== "all" && row.dataset.verdict !== wanted;
    });
  }
  document.body.dataset.ready = "yes";
})();
