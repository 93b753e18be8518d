// All hubs at the top of the page, as the rig is on the page of one: who needs somebody, and how many record.

import { t } from "../../messages";
import { fleetWords } from "../../messages/fleet";
import type { Tone } from "../../rig";
import { printable } from "../../sentences";
import { Sign } from "../../views/sign";
import { isNarrow } from "../../width";
import { hubs, isJoined } from "../broker";
import { frame } from "../frame";
import type { Hub } from "../hubs";
import { countsOf, needs } from "../rows";

const MOST_NAMES = 2;

interface Told {
  tone: Tone;
  head: string;
  cause: string;
  rest: string;
}

/** What stands in the way at a hub, as it says it itself; empty if nothing is known. */
export function conditionOf(hub: Hub): string {
  if (!hub.isOnline) return fleetWords.isOffline;
  if (hub.record?.backend_state === "unavailable") return t.hub.unavailable;
  return printable(hub.record?.ready_message ?? "");
}

function tell(all: readonly Hub[], isLive: boolean): Told {
  const { online, inNeed, recording, total } = countsOf(all, isLive);
  if (!isLive) return { tone: "unknown", head: `${fleetWords.lost}.`, cause: "", rest: fleetWords.countUnknown(all.length) };
  if (all.length === 0) return { tone: "calm", head: fleetWords.nobody, cause: "", rest: "" };
  const rest = [fleetWords.count(online, all.length), fleetWords.recordings(recording, total)].join(", ");
  if (inNeed === 0) return { tone: recording > 0 ? "recording" : "good", head: fleetWords.allWell, cause: "", rest };
  // Of one that is away nothing else is known.
  const away = all.filter((one) => !one.isOnline).map((one) => one.id);
  const first = all.find((one) => one.isOnline && needs(one));
  const cause = [
    away.length > 0 && fleetWords.areOffline(away.slice(0, MOST_NAMES), away.length - MOST_NAMES),
    first && fleetWords.ofOne(first.id, conditionOf(first)),
  ].filter(Boolean).join(" ");
  return { tone: "bad", head: fleetWords.inNeed(inNeed, all.length), cause, rest };
}

export function FleetBand() {
  void frame.value;
  const { tone, head, cause, rest } = tell(hubs.all, isJoined());
  const below = isNarrow.value ? [cause, rest].filter(Boolean).join(" ") : rest;
  return (
    <section class={`rig ${tone}`} aria-labelledby="fleet-title">
      <div class="frame">
        <Sign tone={tone} />
        <div class="rig-words">
          <h2 id="fleet-title" title={`${head} ${cause}`}>
            <strong>{head}</strong> {!isNarrow.value && cause}
          </h2>
          <p title={below}>{below}</p>
        </div>
      </div>
    </section>
  );
}
