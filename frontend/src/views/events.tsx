// What happened since the page was opened, the newest first.

import { t } from "../messages";
import { lines } from "../state";
import { clock } from "./parts";

export function Events({ limit }: { limit?: number }) {
  const shown = limit === undefined ? lines.value : lines.value.slice(0, limit);
  return (
    <section aria-labelledby="events-title">
      <div class="section-head">
        <h2 id="events-title" tabIndex={-1}>
          {t.events.title}
        </h2>
      </div>
      {shown.length === 0 && <p class="empty">{t.events.none}</p>}
      <div role="log" aria-live="off" aria-labelledby="events-title">
        <ol class="events">
          {shown.map((line) => (
            <li key={line.number} class={line.tone}>
              <time dateTime={line.time}>{clock(line.time)}</time>
              <bdi>{line.text}</bdi>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}
