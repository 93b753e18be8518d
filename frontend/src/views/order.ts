// The order of cards and rows: it follows what changes, but never under a person's hand.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { NEEDS, needOf } from "../camera_state";
import type { Device } from "../types";

export type Compare = (one: Device, other: Device) => number;

/**
 * The devices in order. While the pointer is over them, or the focus in them, the order stays as it was, and what is
 * new comes last: no row moves under a hand. `rule` names the order; another one is in force at once.
 */
export function useOrder<Place extends HTMLElement>(devices: readonly Device[], compare: Compare, rule: string) {
  const place = useRef<Place>(null);
  const before = useRef<{ rule: string; ids: number[] }>({ rule: "", ids: [] });
  const [, drawAgain] = useReducer((count: number) => count + 1, 0);
  const isHeld = () => place.current !== null && (place.current.matches(":hover") || place.current.contains(document.activeElement));
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const release = () => drawAgain(undefined);
    element.addEventListener("pointerleave", release);
    element.addEventListener("focusout", release);
    return () => {
      element.removeEventListener("pointerleave", release);
      element.removeEventListener("focusout", release);
    };
  }, []);
  let ordered = [...devices].sort((one, other) => compare(one, other) || one.id - other.id);
  if (before.current.rule === rule && isHeld()) {
    const at = new Map(before.current.ids.map((id, index) => [id, index]));
    const last = before.current.ids.length;
    ordered = ordered.sort((one, other) => (at.get(one.id) ?? last) - (at.get(other.id) ?? last));
  }
  before.current = { rule, ids: ordered.map((one) => one.id) };
  return { ordered, place };
}

/** Made once: what `localeCompare` makes at each call costs more than two hundred rows. */
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

export const byText = (one: string, other: string): number => collator.compare(one, other);

/** What needs a person first, then what is connected. */
export const byNeed: Compare = (one, other) =>
  NEEDS.indexOf(needOf(one)) - NEEDS.indexOf(needOf(other)) || byText(one.name, other.name);
