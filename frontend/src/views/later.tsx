// What is read from the hub when it is opened, and not before.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../messages";
import { notify } from "../toasts";

interface LaterProps<Props> {
  load: () => Promise<{ default: ComponentType<Props> }>;
  props: Props;
  /** What is said of a view while it loads; nothing of a dialog. */
  loading?: string;
  fault?: string;
}

export function Later<Props extends object>({ load, props, loading, fault = t.hub.viewUnreadable }: LaterProps<Props>) {
  const [Loaded, setLoaded] = useState<{ View: ComponentType<Props> } | null>(null);
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    load()
      .then(({ default: View }) => setLoaded({ View }))
      .catch(() => {
        setFailed(true);
        if (!loading) notify("hub", fault, "bad");
      });
  }, []);
  if (Loaded) return <Loaded.View {...props} />;
  if (!loading) return null;
  return isFailed ? <p class="fault">{fault}</p> : <progress aria-label={loading} />;
}
