/** The colour theme: light, dark, or that of the operating system; stored in this browser. */
import { effect, signal } from "@preact/signals";

export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const key = "vedette-theme";
const machine = matchMedia("(prefers-color-scheme: dark)");

function remembered(): Theme {
  const found = localStorage.getItem(key);
  return themes.find((name) => name === found) ?? "auto";
}

export const theme = signal<Theme>(remembered());
const machineIsDark = signal(machine.matches);

/** Increases whenever colours change: canvases must then be redrawn. */
export const paint = signal(0);

export function applyTheme(): void {
  machine.addEventListener("change", () => {
    machineIsDark.value = machine.matches;
  });
  effect(() => {
    const isDark = theme.value === "auto" ? machineIsDark.value : theme.value === "dark";
    document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
    localStorage.setItem(key, theme.value);
    paint.value = paint.peek() + 1;
  });
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
