// Beside the cameras, where there is room: the adapters and the events at a glance.

import { t } from "../messages";
import { AdaptersAtAGlance } from "./adapters";
import { EventsAtAGlance } from "./events";
import "./shared";

const EVENTS = 12;

export default function Beside({ of }: { of: number | null }) {
  return (
    <aside class="beside" aria-label={t.hub.glance}>
      <AdaptersAtAGlance />
      <EventsAtAGlance limit={EVENTS} of={of} />
    </aside>
  );
}
