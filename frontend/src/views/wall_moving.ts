// Tiles take other places by dragging, or by an arrow key on the one that has the focus.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../messages";
import { nameOf } from "../state";
import { announce } from "../toasts";
import { move } from "../wall_places";

/** How a tile looks while one is dragged. */
export type Mark = "dragged" | "target" | undefined;

/** Less is a touch and no drag. */
const DRAG_PX = 16;

interface Drag {
  id: number;
  over: number | null;
}

const tileAt = (target: EventTarget | null): number | null => {
  const tile = target instanceof Element ? target.closest<HTMLElement>("[data-device]") : null;
  return tile ? Number(tile.dataset.device) : null;
};

export function useMoving(list: RefObject<HTMLOListElement>, ordered: readonly number[]) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const moved = useRef<number | null>(null);
  const order = useRef(ordered);
  order.current = ordered;
  const end = useRef<() => void>(() => undefined);
  useEffect(() => () => end.current(), []);

  const moveTo = (id: number, place: number) => {
    moved.current = id;
    const taken = move(id, place, order.current);
    announce(t.wall.moved(nameOf(id), taken + 1, order.current.length));
  };
  // A tile that takes another place in the document loses the focus.
  useLayoutEffect(() => {
    if (moved.current === null) return;
    list.current?.querySelector<HTMLElement>(`[data-device="${moved.current}"]`)?.focus();
    moved.current = null;
  }, [ordered.join()]);

  const onKeyDown = (event: KeyboardEvent) => {
    const id = tileAt(event.target);
    const step = stepOf(event, list.current);
    if (id === null || step === 0) return;
    event.preventDefault();
    moveTo(id, order.current.indexOf(id) + step);
  };

  const onPointerDown = (down: PointerEvent) => {
    const id = tileAt(down.target);
    if (id === null || down.button !== 0) return;
    end.current();
    let over: number | null = null;
    let isDragged = false;
    const follow = (event: PointerEvent) => {
      isDragged ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > DRAG_PX;
      if (!isDragged) return;
      over = tileAt(document.elementFromPoint(event.clientX, event.clientY));
      setDrag((before) => (before?.id === id && before.over === over ? before : { id, over }));
    };
    const drop = () => {
      stop();
      if (over !== null && over !== id) moveTo(id, order.current.indexOf(over));
    };
    // Escape ends the drag, and not the wall.
    const give = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !isDragged) return;
      event.preventDefault();
      stop();
    };
    const stop = () => {
      setDrag(null);
      removeEventListener("pointermove", follow);
      removeEventListener("pointerup", drop);
      removeEventListener("pointercancel", stop);
      removeEventListener("keydown", give, true);
    };
    end.current = stop;
    addEventListener("pointermove", follow);
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", stop);
    addEventListener("keydown", give, true);
  };

  const markOf = (id: number): Mark => (drag === null ? undefined : drag.id === id ? "dragged" : drag.over === id ? "target" : undefined);
  return { markOf, handlers: { onKeyDown, onPointerDown } };
}

/** By how many places an arrow key moves a tile. */
function stepOf({ key, altKey, ctrlKey, metaKey }: KeyboardEvent, list: HTMLElement | null): number {
  if (altKey || ctrlKey || metaKey || !list) return 0;
  const columns = getComputedStyle(list).gridTemplateColumns.split(" ").length;
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  return steps[key] ?? 0;
}
