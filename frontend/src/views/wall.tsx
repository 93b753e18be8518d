// The rig on a screen that is read from three metres: its sentence, a clock, and one tile for each camera.

import { computed } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { clockRead, hubTime } from "../hub_clock";
import { t } from "../messages";
import { drawnDevices, records, rig } from "../rig";
import { capitalised } from "../sentences";
import { useScreenAwake } from "../screen_awake";
import { devices, isCurrent, link, linkReason, service } from "../state";
import { dateOf, second } from "../times";
import type { Device } from "../types";
import { isNeedy, type Others } from "../wall";
import { inPlaces, seats } from "../wall_places";
import { Sign } from "./sign";
import "./shared";
import { type Mark, useMoving } from "./wall_moving";
import { OthersTile, WallTile } from "./wall_tile";

/** A sentence that is longer has smaller letters. */
const LARGE = 34;
/** Below it there are two lines: where they say much, each camera's minutes stand on its tile only. */
const ROOM = 140;

export default function Wall() {
  useScreenAwake();
  useEffect(() => {
    const leave = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented) location.hash = "#cameras";
    };
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, []);
  return (
    <section class="wall" aria-labelledby="wall-title">
      <Head />
      <Tiles />
    </section>
  );
}

function Head() {
  const { tone, away, head, cause, others, lasts } = rig.value;
  const title = useRef<HTMLHeadingElement>(null);
  // From three metres a memory is told from what is so by the largest words only.
  const large = away || head;
  const why = [useSilence(), away ? t.rig.lastKnown(cause) : cause, others].filter(Boolean).join(" ");
  useEffect(() => title.current?.focus(), []);
  return (
    <div class="wall-head" data-tone={tone}>
      <Sign tone={tone} />
      <div class="wall-words">
        <h1 id="wall-title" tabIndex={-1} ref={title} class={large.length > LARGE ? "long" : ""}>
          {large}
        </h1>
        <p>{why.length + lasts.length < ROOM ? `${why} ${lasts}` : why}</p>
      </div>
      <Clock />
    </div>
  );
}

const time = computed(() => second(new Date(hubTime.value)));
const day = computed(() => dateOf(new Date(hubTime.value)));

/** The hub's clock; before an answer of the hub nobody knows it. */
function Clock() {
  const [isRead, setRead] = useState(false);
  useEffect(() => void clockRead.then(() => setRead(true)), []);
  return (
    <div class="wall-clock">
      <time>{isRead ? time : "–:–:–"}</time>
      <p>
        {isRead && <span>{day}</span>} <a href="#cameras">{t.wall.leave}</a>
      </p>
    </div>
  );
}

/** Why nothing is known now, and since when, if this page was there. */
function useSilence(): string {
  const current = isCurrent.value;
  const wasCurrent = useRef(current);
  const since = useRef<number | null>(null);
  if (current) since.current = null;
  else if (wasCurrent.current) since.current = hubTime.peek();
  wasCurrent.current = current;
  if (current || link.value === "starting") return "";
  const why = link.value === "live" ? service.value?.backend_reason : linkReason.value;
  return [
    why && capitalised(why).replace(/[^.]$/, "$&."),
    since.current !== null && t.wall.silentSince(second(new Date(since.current))),
  ]
    .filter(Boolean)
    .join(" ");
}

let before: readonly number[] = [];
/** Who has a tile, and who has none. By its text: what changes nothing of it draws nothing anew. */
const seated = computed(() => {
  const everyone = drawnDevices();
  const current = isCurrent.value;
  const ordered = inPlaces(everyone.map(({ id }) => id));
  const { shown, others } = seats(ordered, needyOf(everyone, current), before);
  before = shown;
  return JSON.stringify({ ordered, shown, others: countsOf(others, current) });
});

interface Seated {
  ordered: number[];
  shown: number[];
  others: Others;
}

function needyOf(everyone: readonly Device[], current: boolean): Set<number> {
  return new Set(everyone.filter((one) => isNeedy(one, current, hubTime.value)).map(({ id }) => id));
}

function countsOf(ids: readonly number[], current: boolean): Others {
  const those = ids.flatMap((id) => devices.peek().get(id) ?? []);
  const needy = those.filter((one) => isNeedy(one, current, hubTime.peek()));
  const recording = those.filter((one) => !needy.includes(one) && records(one));
  const connected = those.filter((one) => one.connected).length;
  return { total: those.length, needy: needy.map(({ name }) => name), recording: recording.length, connected };
}

interface Drawn {
  device: Device;
  mark: Mark;
  tile: VNode;
}

function Tiles() {
  const { ordered, shown, others } = JSON.parse(seated.value) as Seated;
  const list = useRef<HTMLOListElement>(null);
  const moving = useMoving(list, ordered);
  // Only tiles that have changed are drawn anew.
  const drawn = useRef(new Map<number, Drawn>());
  const known = new Map(drawnDevices().map((one) => [one.id, one]));
  const tileFor = (id: number) => {
    const device = known.get(id);
    if (!device) return null;
    const mark = moving.markOf(id);
    const last = drawn.current.get(id);
    if (last?.device === device && last.mark === mark) return last.tile;
    const tile = <WallTile key={id} device={device} mark={mark} />;
    drawn.current.set(id, { device, mark, tile });
    return tile;
  };
  const count = shown.length + (others.total > 0 ? 1 : 0);
  const columns = Math.ceil(Math.sqrt(count));
  if (count === 0) return isCurrent.value ? <p class="wall-none">{t.cameras.none}</p> : <span />;
  return (
    <>
      <p id="wall-hint" class="visually-hidden">
        {t.wall.hint}
      </p>
      <ol class="wall-tiles" style={{ "--columns": columns, "--upright": count > 4 ? 2 : 1 }} ref={list} {...moving.handlers}>
        {shown.map(tileFor)}
        {others.total > 0 && <OthersTile others={others} />}
      </ol>
    </>
  );
}
