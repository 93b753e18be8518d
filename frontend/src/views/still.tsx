// The latest still of a camera that answers, and whose model gives stills; nothing for all others.

import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../messages";
import { snapshotPathOf } from "../models";
import { printable } from "../sentences";
import { isCurrent } from "../state";
import { keepStill, stills, watchStill } from "../stills";
import { minute } from "../times";
import type { Device } from "../types";

export function Still({ device, isLarge = false }: { device: Device; isLarge?: boolean }) {
  const { id } = device;
  const path = snapshotPathOf(device.codename);
  const place = useRef<HTMLCanvasElement>(null);
  const still = useMemo(() => computed(() => stills.value.get(id)), [id]).value;
  const isShown = device.connected && device.reachable !== false && path !== null;
  const isNow = isShown && isCurrent.value;
  useEffect(() => {
    // What it saw before is not what it sees when it is back.
    if (!isShown) keepStill(id, null);
  }, [id, isShown]);
  useEffect(() => {
    if (isNow && place.current) return watchStill(place.current, id, path);
    return undefined;
  }, [id, path, isNow]);
  useEffect(() => {
    const canvas = place.current;
    if (!canvas || !still) return;
    canvas.width = still.picture.width;
    canvas.height = still.picture.height;
    canvas.getContext("2d")?.drawImage(still.picture, 0, 0);
  }, [still, isShown]);
  if (!isShown) return null;
  const time = still && minute(new Date(still.at).toISOString());
  // Its place is kept before the first still has come: nothing moves when it does.
  const picture = (
    <canvas
      ref={place}
      class={`still${isLarge ? " large" : ""}${still ? "" : " none"}`}
      role="img"
      aria-label={time ? t.stills.at(printable(device.name), time) : t.stills.none(printable(device.name))}
    />
  );
  if (!isLarge) return picture;
  return (
    <figure class="panel still-panel">
      {picture}
      <figcaption>{time ? t.stills.taken(time) : t.stills.notYet}</figcaption>
    </figure>
  );
}
