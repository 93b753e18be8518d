// The order of cards and rows: it follows what changes, but never under a person's hand.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { markOf, NEEDS, needOf } from "../camera_state";
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
  // A checkbox keeps the focus of a click for hours; who goes by keys has it where they are.
  // A menu that is open stays beside the camera that it commands.
  const isHeld = () =>
    place.current !== null && (place.current.matches(":hover") || place.current.querySelector(':focus-visible, .menu [aria-expanded="true"]') !== null);
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
  return { ordered, place, isHeld };
}

const keys = new Map<string, string>();
const KEPT = 4_096;

/** What a text is sorted by: without case and accents, and numbers by their value. */
function keyOf(text: string): string {
  let key = keys.get(text);
  if (key === undefined) {
    const plain = text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase();
    key = plain.replace(/\d+/g, (digits) => digits.padStart(16, "0"));
    if (keys.size >= KEPT) keys.clear();
    keys.set(text, key);
  }
  return key;
}

/** Without `Intl.Collator`: the first one takes a browser 10 ms, on a phone 40, before the cameras are there. */
export const byText = (one: string, other: string): number =>
  keyOf(one) < keyOf(other) ? -1
  : keyOf(one) > keyOf(other) ? 1
  : 0;

const isToAct = (device: Device): boolean => markOf(device) === "act";

/** Where a person has to act, then where to look, then what is connected. */
export const byNeed: Compare = (one, other) =>
  Number(isToAct(other)) - Number(isToAct(one)) || NEEDS.indexOf(needOf(one)) - NEEDS.indexOf(needOf(other)) || byText(one.name, other.name);
