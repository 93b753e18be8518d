// The cameras: how many, each as a card or a row, and one more.

import { computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useWhoSleeps } from "../bluetooth";
import { connectGroup, groups, readGroups } from "../groups";
import { t } from "../messages";
import { loadModels } from "../models";
import { openStep, route } from "../route";
import { printable } from "../sentences";
import { devices, isCurrent, service } from "../state";
import type { Device } from "../types";
import { isNarrow } from "../width";
import { AddLater } from "./add_later";
import { DeviceCard } from "./device_card";
import { DeviceList } from "./device_list";
import { Filters, shownOf, words } from "./filters";
import { Later } from "./later";
import { Menu } from "./menu";
import { byNeed, useOrder } from "./order";

/** With more cameras than this, each is a row instead of a card. */
const MANY = 8;
/** With fewer, a glance finds a camera sooner than a filter. */
const FEW = 4;

const isMany = computed(() => devices.value.size > MANY);
export const isList = (): boolean => isMany.value;

const loadInRange = () => import("./in_range");

export function Devices() {
  const everyone = [...devices.value.values()];
  const connected = everyone.filter((one) => one.connected).length;
  const silent = everyone.filter((one) => one.connected && one.reachable === false).length;
  const shown = route.value;
  const hasFilters = everyone.length >= FEW;
  const [isFinding, setFinding] = useState(words.peek() !== "");
  const head = useRef<HTMLDivElement>(null);
  const find = () => {
    // What nobody sees does not filter.
    if (isFinding) words.value = "";
    setFinding(!isFinding);
  };
  useEffect(() => {
    if (isFinding && isNarrow.peek()) head.current?.querySelector("input")?.focus();
  }, [isFinding]);
  useWhoSleeps();
  useEffect(() => void loadModels().catch(() => undefined), []);
  return (
    <section aria-labelledby="cameras-title">
      <div class={`section-head camera-tools${hasFilters ? " filtered" : ""}${isFinding ? " finding" : ""}`} ref={head}>
        <h2 id="cameras-title" tabIndex={-1}>
          {t.cameras.title}{" "}
          {everyone.length > 0 && (
            <span class="count">
              {isCurrent.value
                ? t.cameras.count(connected, everyone.length, silent)
                : t.cameras.countUnknown(everyone.length)}
            </span>
          )}
        </h2>
        {hasFilters && <Filters everyone={everyone} />}
        {isNarrow.value && isList() && (
          <button type="button" class="quiet icon" aria-label={t.cameras.search} aria-expanded={isFinding} onClick={find}>
            <svg class="picture" viewBox="0 0 12 12" aria-hidden="true">
              <path d="M5 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M7.6 7.6 11 11" />
            </svg>
          </button>
        )}
        <Groups />
        <button type="button" class={`add${everyone.length === 0 ? " primary" : ""}`} aria-label={t.cameras.add} disabled={!isCurrent.value} onClick={() => openStep(0)}>
          {isNarrow.value ? (
            <svg class="picture" viewBox="0 0 12 12" aria-hidden="true">
              <path d="M6 1v10M1 6h10" />
            </svg>
          ) : (
            t.cameras.add
          )}
        </button>
      </div>
      {everyone.length === 0 && isCurrent.value && shown.view !== "add" && <Later load={loadInRange} props={{}} loading={t.add.searching} />}
      {isList() ? <DeviceList everyone={everyone} /> : <Cards everyone={everyone} />}
      {shown.view === "add" && <AddLater step={shown.step} />}
    </section>
  );
}

/** The groups of the configuration, each connected by one choice. */
function Groups() {
  const current = isCurrent.value;
  const cause = JSON.stringify([service.value?.backend_state, [...devices.value.values()].map((one) => [one.id, one.name])]);
  useEffect(() => {
    if (current) void readGroups();
  }, [current, cause]);
  if (groups.value.length === 0) return null;
  const items = groups.value.flatMap((group) => [
    {
      key: group.name,
      words: t.groups.connect(printable(group.name), group.device_ids.length, group.missing.map(printable)),
      act: () => void connectGroup(group),
      isDisabled: !current,
    },
    {
      key: `${group.name} partial`,
      words: t.groups.partial(printable(group.name)),
      act: () => void connectGroup(group, true),
      isDisabled: !current,
    },
  ]);
  return (
    <Menu label={t.groups.title} items={items} isWide>
      {t.groups.title}
    </Menu>
  );
}

function Cards({ everyone }: { everyone: readonly Device[] }) {
  const shown = everyone.length >= FEW ? shownOf(everyone) : everyone;
  const { ordered, place } = useOrder<HTMLUListElement>(shown, byNeed, "need");
  return (
    <>
      <ul class="cards" ref={place}>
        {ordered.map((device) => (
          <DeviceCard key={device.id} device={device} />
        ))}
      </ul>
      {everyone.length > 0 && shown.length === 0 && <p class="empty">{t.cameras.noMatches}</p>}
    </>
  );
}
