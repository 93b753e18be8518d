// The rig at the top of the page: its sentence in large, and what is done with all cameras at once.

import { useEffect, useState } from "preact/hooks";
import { isCommandingMany, recordOnMany } from "../commands";
import { t } from "../messages";
import { recordingsOfAll, rig } from "../rig";
import { isCurrent } from "../state";
import { isNarrow } from "../width";
import { Dialog } from "./parts";
import { Sign } from "./sign";

/** What a phone has no room for in two lines of its text. */
const LONG = 66;

/** How all cameras are, as large as it is urgent. Its height is always the same. */
export function RigBand() {
  const { tone, head, short, cause, others, lasts, sentence } = rig.value;
  const rest = [lasts, others].filter(Boolean).join(" ");
  const below = isNarrow.value ? [cause, rest].filter(Boolean).join(" ") : rest;
  return (
    <section class={`rig ${tone}`} aria-labelledby="rig-title">
      <div class="frame">
        <Sign tone={tone} />
        {/* Other words take the place of these, which do not move. */}
        <div class="rig-words" key={`${sentence} ${rest}`}>
          <h2 id="rig-title" title={sentence}>
            <strong>{isNarrow.value ? short : head}</strong> {!isNarrow.value && cause}
          </h2>
          <p class={below.length > LONG ? "long" : ""} title={below}>
            {below}
          </p>
        </div>
        {!isNarrow.value && <RecordOnAll />}
      </div>
    </section>
  );
}

/** The same where another view needs the room; it leads to the cameras. */
export function RigPill() {
  const { tone, short, sentence } = rig.value;
  return (
    <a class={`rig-pill ${tone}`} href="#cameras" title={sentence}>
      <Sign tone={tone} />
      <span>{short}</span>
    </a>
  );
}

/** Always there where a camera can do it: the buttons keep their places and the focus. */
export function RecordOnAll({ isChecking = false }: { isChecking?: boolean }) {
  const [isStopping, setStopping] = useState(false);
  const { able, total, running, unknown, ...known } = recordingsOfAll.value;
  const isAll = known.isAll && isCurrent.value;
  const isAsked = running > 0 || unknown.length > 0;
  useEffect(() => {
    if (!isAsked) setStopping(false);
  }, [isAsked]);
  // What is stopped by a slip of the finger is lost.
  const stop = () => (isAsked ? setStopping(true) : void recordOnMany(false));
  const button = (words: string, name: string, isPossible: boolean, act: () => void, isDone = false) => (
    <button
      type="button"
      class={name}
      disabled={!isCurrent.value || !isPossible}
      aria-disabled={isDone}
      aria-busy={isCommandingMany.value}
      title={total > 0 ? t.cameras.forRig(total) : t.answers.noneToRecord}
      onClick={() => isDone || act()}
    >
      {words}
    </button>
  );
  return (
    <div class="record-on-all">
      {able > 0 && button(t.cameras.stopAllAsking, "quiet stop", total > 0 || isAsked, stop)}
      {!isNarrow.value && !isChecking && (
        <a class="button" href="#check">
          {t.rig.check}
        </a>
      )}
      {able > 0 && button(isAll ? t.cameras.allRecord : t.cameras.recordOnAll, `start${isAll ? " done" : ""}`, total > 0, () => void recordOnMany(true), isAll)}
      {isStopping && <StopAll running={running} unknown={unknown} onClose={() => setStopping(false)} />}
    </div>
  );
}

interface StopAllProps {
  running: number;
  /** Who may record, though nobody knows. */
  unknown: readonly string[];
  onClose: () => void;
}

function StopAll({ running, unknown, onClose }: StopAllProps) {
  const stop = () => {
    onClose();
    void recordOnMany(false);
  };
  return (
    <Dialog title={t.cameras.stopAllTitle} onClose={onClose}>
      <p>{t.cameras.recordNow(running, unknown)}</p>
      <div class="actions">
        <span class="spread" />
        <button type="button" onClick={onClose}>
          {t.cameras.keepRecording}
        </button>
        <button type="button" class="danger" disabled={isCommandingMany.value} onClick={stop}>
          {t.cameras.stopAll}
        </button>
      </div>
    </Dialog>
  );
}
