// What a thumb reaches on a phone: recording on all cameras, and the way from one view to the other.

import type { ComponentChildren } from "preact";
import { t } from "../messages";
import type { View } from "../route";
import { tilesets } from "../tilesets";
import { type Item, Menu } from "./menu";
import { RecordOnAll } from "./rig";
import { endSession, hasSessions } from "./sign_out";
import { themeItems } from "./theme_switch";

const TABS = {
  cameras: "M1 4h2l1-1.5h4L9 4h2v6H1zM6 5.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6",
  takes: "M1 3h7M1 6h10M3 9h6",
  check: "M2 1.5h8v9H2zM4 6l1.5 1.5L8.2 4.5",
  events: "M1.5 3h9M1.5 6h9M1.5 9h9",
} satisfies Partial<Record<View, string>>;

const FURTHER = ["adapters", "wall", "map"] as const;

const Picture = ({ children }: { children: ComponentChildren }) => (
  <svg class="picture" viewBox="0 0 12 12" aria-hidden="true">
    {children}
  </svg>
);

export function PhoneBar({ view }: { view: View }) {
  const further = FURTHER.filter((name) => name !== "map" || tilesets.value?.length);
  const items: Item[] = [
    ...further.map((name) => ({ key: name, words: t.hub[name], act: () => void (location.hash = name) })),
    ...themeItems(),
    ...(hasSessions ? [{ key: "sign-out", words: t.hub.signOut, act: () => void endSession() }] : []),
  ];
  return (
    <div class="thumb">
      <RecordOnAll />
      <nav aria-label={t.hub.views}>
        {(Object.keys(TABS) as (keyof typeof TABS)[]).map((name) => (
          <a key={name} href={`#${name}`} aria-current={name === view ? "page" : undefined}>
            <Picture>
              <path d={TABS[name]} />
            </Picture>
            {name === "check" ? t.rig.check : t.hub[name]}
          </a>
        ))}
        <Menu label={t.rig.more} items={items} isWide isCurrent={further.some((name) => name === view)}>
          <Picture>
            <circle cx="2" cy="6" r="0.7" />
            <circle cx="6" cy="6" r="0.7" />
            <circle cx="10" cy="6" r="0.7" />
          </Picture>
          {t.rig.more}
        </Menu>
      </nav>
    </div>
  );
}
