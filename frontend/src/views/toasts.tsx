// Short messages over the page, on every size, each as high as its text. What is read aloud stands in a live region of
// its own.

import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../messages";
import { minute } from "../times";
import { announced, dismiss, type Toast, toasts } from "../toasts";

const EDGE = 16;
const GAP = 8;

/** What lies at the bottom of a phone's screen. */
const barHeight = () => document.querySelector<HTMLElement>(".thumb")?.offsetHeight ?? 0;

interface Place {
  bottom: number;
  height: number;
}

/** Where a message goes: where the one before it about the same was, or as low as it fits between the others. */
function placeFor(height: number, others: readonly Place[], before: Place | undefined): number {
  const fits = (bottom: number) =>
    bottom + height + EDGE + barHeight() <= innerHeight &&
    others.every((one) => bottom + height + GAP <= one.bottom || one.bottom + one.height + GAP <= bottom);
  const above = others.map((one) => one.bottom + one.height + GAP).sort((one, other) => one - other);
  return [...(before ? [before.bottom] : []), EDGE, ...above].find(fits) ?? EDGE;
}

/** Each keeps its place: what is shown does not move. */
function usePlaces() {
  const list = useRef<HTMLElement>(null);
  const places = useRef<ReadonlyMap<string, Place>>(new Map());
  useLayoutEffect(() => {
    const now = new Map<string, Place>();
    const shown = [...(list.current?.children ?? [])] as HTMLElement[];
    const isPlaced = (one: HTMLElement) => one.style.bottom !== "";
    for (const one of [...shown.filter(isPlaced), ...shown.filter((each) => !isPlaced(each))]) {
      const about = one.dataset.about ?? "";
      const height = one.offsetHeight;
      const bottom = isPlaced(one) ? parseFloat(one.style.bottom) : placeFor(height, [...now.values()], places.current.get(about));
      one.style.bottom = `${bottom}px`;
      now.set(about, { bottom, height });
    }
    places.current = now;
  });
  return list;
}

/** What it leads to says itself what came of it. */
function take({ number, step }: Toast): void {
  dismiss(number);
  step?.act();
}

/** `canAct`: whether what a message leads to can be done now. */
export function Toasts({ canAct = true }: { canAct?: boolean }) {
  const list = usePlaces();
  return (
    <>
      <p class="visually-hidden" role="status">
        <span key={announced.value.number}>{announced.value.text}</span>
      </p>
      {toasts.value.length > 0 && (
        <section class="toasts" aria-label={t.hub.notifications} ref={list}>
          {toasts.value.map((toast) => (
            <div key={toast.number} class={`toast ${toast.tone}`} data-about={toast.about}>
              <span>
                {toast.text}
                {toast.at && (
                  <>
                    {" "}
                    <time dateTime={toast.at.toISOString()}>{minute(toast.at)}</time>
                  </>
                )}
              </span>
              {toast.step && (
                <button type="button" class="primary" disabled={!canAct} onClick={() => take(toast)}>
                  {toast.step.words}
                </button>
              )}
              <button type="button" class="quiet small dismiss" aria-label={t.hub.dismiss} onClick={() => dismiss(toast.number)}>
                ✕
              </button>
            </div>
          ))}
        </section>
      )}
    </>
  );
}
