// Light or dark: what the system prefers, until somebody chooses otherwise on this device.
// A classic script in the head, not a module: it runs before anything is drawn, so that no page flashes.
(() => {
  "use strict";
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const NAME = "dcf-theme";

  const chosen = () => {
    try {
      return localStorage.getItem(NAME);
    } catch {
      return null; // storage is switched off: the system's preference holds
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const show = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  const keep = (theme) => {
    try {
      if (theme === null) localStorage.removeItem(NAME);
      else localStorage.setItem(NAME, theme);
    } catch {
      // the choice lasts for this page
    }
  };

  show(chosen());
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-button]");
    const tell = () => button.setAttribute("aria-pressed", String(isDark()));
    if (button === null) return;
    button.hidden = false;
    tell();
    button.addEventListener("click", () => {
      const wanted = isDark() ? "light" : "dark";
      const theme = wanted === (prefersDark.matches ? "dark" : "light") ? null : wanted;
      show(theme);
      keep(theme);
      tell();
    });
    prefersDark.addEventListener("change", tell);
    window.addEventListener("storage", (event) => {
      if (event.key === NAME) show(event.newValue);
      tell();
    });
  });
})();
