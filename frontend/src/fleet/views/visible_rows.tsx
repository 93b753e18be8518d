// A long list of rows of one height, of which those in view are in the document, and the one that has the focus.

import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { changed, subscribeFrames } from "../frame";

const BEYOND = 6;
/** Whether a pointer has moved over the list: one that rests where the button for signing in was is at no row. */
export const isUnderHand = signal(false);
const shown = signal({ first: 0, last: 40 });

interface Props {
  keys: readonly string[];
  label: string;
  row: (index: number) => ComponentChildren;
}

export function VisibleRows({ keys, label, row }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const count = useRef(0);
  count.current = keys.length;
  const [focused, setFocused] = useState<string | null>(null);
  useEffect(() => {
    const measure = () => {
      const box = list.current?.getBoundingClientRect();
      if (!box || box.height === 0 || count.current === 0) return;
      const height = box.height / count.current;
      const first = Math.max(0, Math.floor(-box.top / height) - BEYOND);
      const last = Math.max(0, Math.ceil((innerHeight - box.top) / height) + BEYOND);
      if (first !== shown.value.first || last !== shown.value.last) shown.value = { first, last };
    };
    // The browser sends these before a frame, and once for each.
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    const end = subscribeFrames(measure);
    return () => {
      end();
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, []);
  const { first, last } = shown.value;
  const drawn: number[] = [];
  const kept = focused === null ? -1 : keys.indexOf(focused);
  if (kept >= 0 && kept < first) drawn.push(kept);
  for (let index = first; index < Math.min(last, keys.length); index += 1) drawn.push(index);
  if (kept >= Math.min(last, keys.length)) drawn.push(kept);
  return (
    <ul
      ref={list}
      class="fleet"
      aria-label={label}
      style={{ height: `calc(var(--row) * ${keys.length})` }}
      onPointerMove={() => (isUnderHand.value = true)}
      onPointerLeave={() => ((isUnderHand.value = false), changed())}
      onFocusIn={(event) => setFocused((event.target as HTMLElement).closest<HTMLElement>("li")?.dataset.key ?? null)}
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setFocused(null);
      }}
    >
      {drawn.map((index) => (
        <li
          key={keys[index]}
          data-key={keys[index]}
          aria-setsize={keys.length}
          aria-posinset={index + 1}
          style={{ top: `calc(var(--row) * ${index})` }}
        >
          {row(index)}
        </li>
      ))}
    </ul>
  );
}
