// What is needed less often than a card's one button: a menu that opens at a press. A person who holds it may let go
// over an item, as in the menus of desktops, so that a choice costs no more presses than a button of its own.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Item {
  key: string;
  words: string;
  /** What a screen reader says after the words. */
  more?: string;
  /** Where it leads; without it, the item is a button. */
  href?: string;
  isDisabled?: boolean;
  isDanger?: boolean;
  /** Whether it is the one that is chosen, of several. */
  isChecked?: boolean;
  act?: () => void;
}

const GAP = 4;

interface Props {
  label: string;
  items: readonly Item[];
  children: ComponentChildren;
  /** Whether the button has words instead of a picture. */
  isWide?: boolean;
  /** Whether the view that is shown is one of its items. */
  isCurrent?: boolean;
}

export function Menu({ label, items, children, isWide = false, isCurrent = false }: Props) {
  const [place, setPlace] = useState<Record<string, string> | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const isOpen = place !== null;

  const open = () => {
    const box = button.current?.getBoundingClientRect();
    if (!box) return;
    const isHigh = box.bottom > innerHeight / 2;
    setPlace({
      right: `${Math.max(GAP, document.documentElement.clientWidth - box.right)}px`,
      ...(isHigh ? { bottom: `${innerHeight - box.top + GAP}px` } : { top: `${box.bottom + GAP}px` }),
      "max-height": `${(isHigh ? box.top : innerHeight - box.bottom) - 2 * GAP}px`,
    });
  };
  const close = (hasFocus: boolean) => {
    setPlace(null);
    if (hasFocus) button.current?.focus();
  };
  const choose = (item: Item) => {
    // The focus goes back first: a dialog that the item opens returns it there.
    close(true);
    item.act?.();
  };
  const entries = () => [...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])") ?? [])];

  useEffect(() => {
    if (!isOpen) return undefined;
    entries()[0]?.focus({ preventScroll: true });
    const leave = (event: Event) => {
      const at = event.target as Node | null;
      if (event.type === "resize" || !(list.current?.contains(at) || button.current?.contains(at))) setPlace(null);
    };
    addEventListener("pointerdown", leave, true);
    addEventListener("scroll", leave, true);
    addEventListener("resize", leave);
    return () => {
      removeEventListener("pointerdown", leave, true);
      removeEventListener("scroll", leave, true);
      removeEventListener("resize", leave);
    };
  }, [isOpen]);

  const onKey = (event: KeyboardEvent) => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next !== undefined) all[(next + all.length) % all.length]?.focus();
    else if (event.key === "Escape") close(true);
    else if (event.key === "Tab") close(false);
    if (next !== undefined || event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
    }
  };

  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class={isWide ? "" : "quiet icon"}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        aria-current={isCurrent ? "page" : undefined}
        onPointerDown={(event) => {
          if (event.button !== 0 || isOpen) return;
          // A finger's events all go to where it began, unless it is let go of.
          (event.target as Element).releasePointerCapture?.(event.pointerId);
          open();
        }}
        onClick={(event) => {
          // A keyboard's click has no pointer; a pointer's has opened the menu already, or is to close it.
          if (event.detail === 0) isOpen ? close(true) : open();
        }}
        onMouseDown={(event) => event.preventDefault()}
      >
        {children}
      </button>
      {isOpen && (
        <div class="menu-items" role="menu" aria-label={label} style={place} ref={list} onKeyDown={onKey}>
          {items.map((item) => (
            <Entry key={item.key} item={item} onChoose={choose} />
          ))}
        </div>
      )}
    </span>
  );
}

function Entry({ item, onChoose }: { item: Item; onChoose: (item: Item) => void }) {
  const words = (
    <>
      {item.words}
      {item.more && <span class="visually-hidden">{item.more}</span>}
    </>
  );
  const isPressed = useRef(false);
  const role = item.isChecked === undefined ? ("menuitem" as const) : ("menuitemradio" as const);
  const shared = { role, tabIndex: -1, class: item.isDanger ? "danger" : "" };
  if (item.href) {
    return (
      <a
        {...shared}
        href={item.href}
        target="_blank"
        rel="noopener"
        onPointerDown={() => (isPressed.current = true)}
        onPointerUp={(event) => {
          // A pointer that was pressed elsewhere makes no click here.
          if (event.button === 0 && !isPressed.current) event.currentTarget.click();
          isPressed.current = false;
        }}
        onClick={() => onChoose(item)}
      >
        {words}
      </a>
    );
  }
  const choose = () => {
    if (!item.isDisabled) onChoose(item);
  };
  return (
    <button
      {...shared}
      type="button"
      aria-checked={item.isChecked}
      aria-disabled={item.isDisabled ?? false}
      onPointerUp={(event) => event.button === 0 && choose()}
      onClick={(event) => event.detail === 0 && choose()}
    >
      {words}
    </button>
  );
}
