// Light or dark: as the system, or as a person chose in this browser. One attribute on the root says which, and the style
// sheet has the colours; it is set before anything is drawn.

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "wifimgrd-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return THEMES.find((one) => one === kept) ?? "system";
  } catch {
    return "system";
  }
}

function show(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
}

export function chooseTheme(chosen: Theme): void {
  show(chosen);
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage a reload forgets it.
  }
}

/** Show what was chosen, and go on with the system and with the other tabs of this browser. */
export function followTheme(): void {
  const follow = () => show(chosenTheme());
  follow();
  dark.addEventListener("change", follow);
  addEventListener("storage", follow);
}
