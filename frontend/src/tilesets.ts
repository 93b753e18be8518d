// The offline maps of the hub: read once it can be asked, and again when one has changed.

import { effect, signal } from "@preact/signals";
import { Problem, request } from "./api";
import { mapWords } from "./messages/map";
import { isCurrent, onForget, tilesetsChanged } from "./state";
import type { Tileset } from "./types";

/** null until they are read. */
export const tilesets = signal<readonly Tileset[] | null>(null);
export const tilesetsFault = signal("");
onForget(() => (tilesets.value = null));

export function followTilesets(): void {
  effect(() => {
    void tilesetsChanged.value;
    if (!isCurrent.value) return;
    request<{ tilesets: Tileset[] }>("tiles/")
      .then(({ tilesets: listed }) => {
        tilesets.value = listed;
        tilesetsFault.value = "";
      })
      .catch((error: unknown) => (tilesetsFault.value = error instanceof Problem ? error.message : mapWords.unreadable));
  });
}
