// The latest still of a camera that answers, and whose model gives stills; nothing for all others. Of a model that gives
// none while it records there is none then, nor while it is not known whether it does.

import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../messages";
import { stillSourceOf } from "../models";
import { printable } from "../sentences";
import { isCurrent } from "../state";
import { keepStill, stills, watchStill } from "../stills";
import { minute } from "../times";
import type { Device } from "../types";

export function Still({ device, isLarge = false }: { device: Device; isLarge?: boolean }) {
  const { id } = device;
  const source = stillSourceOf(device.codename);
  const place = useRef<HTMLCanvasElement>(null);
  const still = useMemo(() => computed(() => stills.value.get(id)), [id]).value;
  const isShown = device.connected && device.reachable !== false && source !== null;
  const isGiven = isShown && (source.while_recording || device.camera?.recording === false);
  const isNow = isGiven && isCurrent.value;
  useEffect(() => {
    // What it saw before is not what it sees when it is back.
    if (!isGiven) keepStill(id, null);
  }, [id, isGiven]);
  useEffect(() => {
    if (isNow && place.current) return watchStill(place.current, id, source);
    return undefined;
  }, [id, source, isNow]);
  useEffect(() => {
    const canvas = place.current;
    if (!canvas) return;
    // A canvas whose size is set is empty.
    canvas.width = still?.picture.width ?? 1;
    canvas.height = still?.picture.height ?? 1;
    if (still && isGiven) canvas.getContext("2d")?.drawImage(still.picture, 0, 0);
  }, [still, isShown, isGiven]);
  if (!isShown) return null;
  const time = still && minute(new Date(still.at).toISOString());
  const isBusy = !isGiven && device.camera?.recording;
  const name = printable(device.name);
  // Its place is kept before the first still has come: nothing moves when it does. A page has no empty frame for hours.
  const picture = (isGiven || !isLarge) && (
    <canvas
      ref={place}
      class={`still${isLarge ? " large" : ""}${still ? "" : " none"}${isGiven ? "" : " away"}`}
      role="img"
      aria-label={time ? t.stills.at(name, time) : isBusy ? t.stills.noneNow(name) : t.stills.none(name)}
    />
  );
  if (!isLarge) return picture || null;
  return (
    <figure class="panel still-panel">
      {picture}
      <figcaption>{time ? t.stills.taken(time) : isBusy ? t.stills.notNow : t.stills.notYet}</figcaption>
    </figure>
  );
}
