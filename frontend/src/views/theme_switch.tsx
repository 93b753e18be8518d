// Light, dark, or as the system: on deck in the sun, and at night.

import { signal } from "@preact/signals";
import { t } from "../messages";
import { chooseTheme, chosenTheme, type Theme, THEMES } from "../theme";
import type { Item } from "./menu";

const SIGNS: Record<Theme, string> = {
  system: "M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9",
  light: "M6 4a2 2 0 1 1 0 4 2 2 0 0 1 0-4M6 .8v1M6 10.2v1M.8 6h1M10.2 6h1M2.3 2.3l.7.7M9 9l.7.7M9.7 2.3 9 3M3 9l-.7.7",
  dark: "M9.8 7.6A4.4 4.4 0 1 1 4.6 2.2a3.6 3.6 0 0 0 5.2 5.4z",
};

const chosen = signal(chosenTheme());
addEventListener("storage", () => (chosen.value = chosenTheme()));

function choose(theme: Theme): void {
  chooseTheme(theme);
  chosen.value = theme;
}

export function ThemeSwitch() {
  return (
    <span class="segments theme" role="group" aria-label={t.theme.title}>
      {THEMES.map((theme) => (
        <button key={theme} type="button" aria-pressed={theme === chosen.value} aria-label={t.theme[theme]} title={t.theme[theme]} onClick={() => choose(theme)}>
          <svg class="picture" viewBox="0 0 12 12" aria-hidden="true">
            <path d={SIGNS[theme]} />
            {theme === "system" && <path class="full" d="M6 1.5a4.5 4.5 0 0 1 0 9z" />}
          </svg>
        </button>
      ))}
    </span>
  );
}

/** The same as items of a menu. */
export const themeItems = (): Item[] =>
  THEMES.map((theme) => ({ key: theme, words: t.theme[theme], isChecked: theme === chosen.value, act: () => choose(theme) }));
