// The dialogs in which cameras are added: each is read from the hub when it is first opened.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { clear } from "../draft";
import { dropped } from "../dropped";
import { t } from "../messages";
import { closeSteps } from "../route";
import { notify } from "../toasts";

type Add = { step: number; onBulk: (text: string) => void };
type Bulk = { text: string; onBack: () => void; onClose: () => void };

const close = () => {
  clear();
  closeSteps();
};

let Single: ComponentType<Add> | null = null;
let Several: ComponentType<Bulk> | null = null;

async function load(isBulk: boolean): Promise<void> {
  if (isBulk) Several = (await import("./bulk_add")).default;
  else Single = (await import("./add_camera")).default;
}

export function AddLater({ step }: { step: number }) {
  const [bulk, setBulk] = useState<string | null>(dropped.value ? "" : null);
  const [, setLoaded] = useState(0);
  const isBulk = bulk !== null || dropped.value !== null;
  const isMissing = isBulk ? !Several : !Single;
  useEffect(() => {
    if (isBulk && bulk === null) setBulk("");
    if (!isMissing) return;
    load(isBulk)
      .then(() => setLoaded((count) => count + 1))
      .catch(() => {
        notify("add", t.hub.viewUnreadable, "bad");
        closeSteps();
      });
  }, [isBulk]);
  if (isBulk) return Several && <Several text={bulk ?? ""} onBack={() => setBulk(null)} onClose={close} />;
  return Single && <Single step={step} onBulk={setBulk} />;
}
