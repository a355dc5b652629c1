"use strict";
// Light or dark as the system prefers, until somebody says otherwise on this page.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function light(theme) {
    root.dataset.theme = theme;
    document.dispatchEvent(new Event("theme"));
  }

  light(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => light(dark.matches ? "dark" : "light"));
  document.addEventListener("click", (click) => {
    if (click.target.closest("#theme")) light(root.dataset.theme === "dark" ? "light" : "dark");
  });
})();
