// What is shown of many: by words, and by how they are.

import { signal } from "@preact/signals";
import { type CameraState, needOf, STATES, stateOf } from "../camera_state";
import { t } from "../messages";
import { modelName } from "../models";
import type { Device } from "../types";

export type Filter = "" | "attention" | CameraState;

// Kept while other views are open.
export const words = signal("");
export const filter = signal<Filter>("");

/** What a camera is found by. Its state is none of it: that has a filter of its own. */
function searched({ name, connection_settings, codename, address, camera_address }: Device): string {
  const parts = [name, connection_settings.ssid, codename, modelName(codename), address ?? camera_address];
  return parts.filter(Boolean).join("\n").toLowerCase();
}

const isOf = (one: Filter, device: Device): boolean =>
  one === "" || (one === "attention" ? needOf(device) === "attention" : stateOf(device) === one);

export function shownOf(everyone: readonly Device[]): Device[] {
  const wanted = words.value.trim().toLowerCase();
  return everyone.filter((one) => isOf(filter.value, one) && searched(one).includes(wanted));
}

/** Whether all are shown, or all that need a person: who looks for some wants to see each. */
export const isOverview = (): boolean => words.value.trim() === "" && (filter.value === "" || filter.value === "attention");

/** A field, and a button for each state that a camera is in. */
export function Filters({ everyone }: { everyone: readonly Device[] }) {
  const count = (one: Filter) => everyone.filter((device) => isOf(one, device)).length;
  const all: Filter[] = ["", "attention", ...STATES];
  // The one that is chosen stays, with none left: the button keeps its place and the focus.
  const offered = all.map((one) => [one, count(one)] as const).filter(([one, number]) => one === "" || number > 0 || one === filter.value);
  return (
    <>
      <input
        type="search"
        class="find"
        aria-label={t.cameras.find}
        value={words.value}
        onInput={(event) => (words.value = event.currentTarget.value)}
        placeholder={t.cameras.find}
        title={t.cameras.findHint}
      />
      <div class="chips" role="group" aria-label={t.cameras.filterState}>
        {offered.map(([one, number]) => (
          <button
            key={one}
            type="button"
            class={`chip ${one}`}
            aria-pressed={filter.value === one}
            onClick={() => (filter.value = filter.value === one ? "" : one)}
          >
            {one === "" ? t.cameras.all : one === "attention" ? t.cameras.attention : t.states[one]}{" "}
            <span class="number">{number}</span>
          </button>
        ))}
      </div>
    </>
  );
}
