// Small pieces that several views share.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../messages";
import { visible } from "../sentences";

/** A name from outside: never markup, never able to turn the text around it. */
export const Name = ({ text }: { text: string }) => <bdi>{visible(text)}</bdi>;

const STRENGTH_STEPS = [15, 40, 65, 85];

export function Signal({ percent }: { percent: number }) {
  const bars = STRENGTH_STEPS.filter((step) => percent >= step).length;
  return (
    <span class="signal" title={t.camera.signalStrength}>
      <svg viewBox="0 0 20 14" aria-hidden="true">
        {STRENGTH_STEPS.map((_, index) => (
          <rect
            key={index}
            class={index < bars ? "on" : "off"}
            x={index * 5}
            y={10 - index * 3}
            width="3.5"
            height={4 + index * 3}
            rx="1"
          />
        ))}
      </svg>
      <span class="visually-hidden">{t.camera.signal} </span>
      {percent} %
    </span>
  );
}

/** Below this, a battery is as good as empty. */
const LOW_PERCENT = 15;

interface BatteryProps {
  percent: number | null;
  words: string;
  /** What a bolt says where there is no room for words. */
  charging?: string | undefined;
}

export const BatteryLevel = ({ percent, words, charging }: BatteryProps) => (
  <span class={`battery${percent !== null && percent < LOW_PERCENT ? " low" : ""}`}>
    <svg viewBox="0 0 24 12" role="img" aria-label={t.reading.battery}>
      <rect class="shell" x="0.5" y="0.5" width="20" height="11" rx="2.5" />
      <rect class="level" x="2" y="2" width={(17 * (percent ?? 0)) / 100} height="8" rx="1" />
      <rect class="pole" x="21.5" y="4" width="2" height="4" rx="1" />
      {charging && <path class="bolt" d="M11.5 1 6.5 6.7h3.2L8.6 11l5-5.7h-3.2z" />}
    </svg>
    {words}
    {charging && <span class="visually-hidden">{charging}</span>}
  </span>
);

/** Put a text on the clipboard; whether it worked. Over plain HTTP from elsewhere, browsers know only the old way. */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
}

/** A value with its name, in large. */
export const Stat = ({ title, children, note }: { title: string; children: ComponentChildren; note?: string | null }) => (
  <div class="stat">
    <dt>{title}</dt>
    <dd>
      {children}
      {note && <small>{note}</small>}
    </dd>
  </div>
);

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog: focus stays in it, Escape closes it, and focus goes back to where it was. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    // Not the button that closes it: the field that is next, else the title, which is read first.
    (dialog?.querySelector<HTMLElement>("[data-first]") ?? dialog?.querySelector("h2"))?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.getElementById("content")?.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id="dialog-title" tabIndex={-1}>{title}</h2>
        <button type="button" class="quiet" onClick={onClose} aria-label={t.hub.close}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}

/** A text in which Wi-Fi, which has a hyphen, stays on one line. */
export const Unbroken = ({ text }: { text: string }) => (
  <>{text.split(/(Wi-Fi)/).map((part) => (part === "Wi-Fi" ? <span class="unbroken">{part}</span> : part))}</>
);

/** Move the focus to the first field at fault, once it is marked. */
export function useFocusOnFault(faults: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), [faults]);
  return form;
}

export function Faults({ id, sentences }: { id: string; sentences: readonly string[] | undefined }) {
  if (!sentences?.length) return null;
  return (
    <p class="fault" id={id} role="alert">
      {sentences.join(" ")}
    </p>
  );
}
