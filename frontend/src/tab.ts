// The browser's tab tells how the cameras are: how many need a person, in its title, and by a dot on its icon.

import { computed, effect } from "@preact/signals";
import { needOf } from "./camera_state";
import { t } from "./messages";
import { route } from "./route";
import { printable } from "./sentences";
import { devices, isCurrent, link } from "./state";

type Mark = "" | "attention" | "recording" | "lost";

/** The colours of the dot; an icon has no stylesheet. */
const COLOURS: Record<Exclude<Mark, "">, string> = { attention: "#d97706", recording: "#e11d2e", lost: "#6b7280" };

const attention = computed(() => (isCurrent.value ? [...devices.value.values()].filter((one) => needOf(one) === "attention").length : 0));
const mark = computed<Mark>(() => {
  if (link.value === "lost" || (link.value === "live" && !isCurrent.value)) return "lost";
  if (attention.value > 0) return "attention";
  return [...devices.value.values()].some((one) => one.connected && one.camera?.recording) ? "recording" : "";
});
const place = computed(() => {
  const shown = route.value;
  const name = shown.view === "camera" ? devices.value.get(shown.id)?.name : undefined;
  return name === undefined ? t.hub.title : t.hub.titleOf(printable(name));
});

export function showState(): void {
  effect(() => void (document.title = attention.value > 0 ? t.hub.titleCount(attention.value, place.value) : place.value));
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!icon) return;
  const plain = icon.href;
  let drawing = "";
  let isAsked = false;
  const draw = () => {
    if (mark.value && !isAsked) read();
    const dot = mark.value && `<circle cx="25" cy="7" r="6.5" fill="${COLOURS[mark.value]}" stroke="#fff" stroke-width="1.5"/></svg>`;
    icon.href = dot && drawing ? `data:image/svg+xml,${encodeURIComponent(drawing.replace("</svg>", dot))}` : plain;
  };
  // Only when there is something to add to it: at first there is more to do.
  const read = () => {
    isAsked = true;
    fetch(plain)
      .then((answer) => answer.text())
      .then((text) => {
        drawing = text;
        draw();
      })
      .catch(() => (isAsked = false));
  };
  effect(draw);
}
