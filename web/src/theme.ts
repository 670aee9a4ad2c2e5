/** The theme of the page: what was chosen and kept, else what the system has. The style sheet knows the shown one alone. */

export const k_themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof k_themes)[number];

const k_kept_as = "aplomb-theme";
const system_dark = matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme = "auto";

export const kept_theme = (): Theme => {
  try {
    return k_themes.find((each) => each === localStorage.getItem(k_kept_as)) ?? "auto";
  } catch {
    return "auto"; // a page from a file may keep nothing
  }
};

/** Shows a theme and keeps it; who draws with colours of the page hears "aplomb-theme". */
export const choose_theme = (theme: Theme) => {
  chosen = theme;
  show();
  try {
    localStorage.setItem(k_kept_as, theme);
  } catch {
    // It holds until the page is closed.
  }
};

const show = () => {
  const dark = chosen === "auto" ? system_dark.matches : chosen === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.dispatchEvent(new Event("aplomb-theme"));
};

system_dark.addEventListener("change", show);
