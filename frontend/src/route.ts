// Which view is shown, by the address behind #, so that the browser's Back and Forward work.

import { signal } from "@preact/signals";

const VIEWS = ["cameras", "check", "takes", "adapters", "events", "wall", "map"] as const;
export type View = (typeof VIEWS)[number];
export type Route = { view: View } | { view: "camera"; id: number } | { view: "add"; step: number };

export const ADD_STEPS = ["#add", "#add/camera"];

function routeOf(hash: string): Route {
  const camera = /^#camera\/([1-9]\d{0,15})$/.exec(hash);
  if (camera) return { view: "camera", id: Number(camera[1]) };
  const step = ADD_STEPS.indexOf(hash);
  if (step >= 0) return { view: "add", step };
  const name = hash.slice(1);
  return { view: VIEWS.find((one) => one === name) ?? "cameras" };
}

export const route = signal<Route>(routeOf(location.hash));

const read = () => {
  const next = routeOf(location.hash);
  if (JSON.stringify(next) !== JSON.stringify(route.value)) route.value = next;
};
addEventListener("hashchange", read);
addEventListener("popstate", read);

/** How many entries of the browser's history the dialog at this address has made. */
const depth = (): number => Number((history.state as { depth?: number } | null)?.depth ?? 0);

export function openStep(step: number): void {
  history.pushState({ depth: depth() + 1 }, "", ADD_STEPS[step]);
  read();
}

/** Leave the dialog; its entries are left behind, so that Back does not open it again. */
export function closeSteps(): void {
  const made = depth();
  if (made > 0) {
    history.go(-made);
    return;
  }
  history.replaceState(null, "", "#cameras");
  read();
}

export function stepBack(): void {
  if (depth() > 1) history.back();
  else {
    history.replaceState(history.state, "", ADD_STEPS[0]);
    read();
  }
}
