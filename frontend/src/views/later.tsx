// A part of the page that is read from the hub when it is first shown, and not before.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

/** It, with what is shown until it is there, and where it cannot be read. */
export function later<Props>(load: () => Promise<{ default: ComponentType<Props> }>, loading: string, fault: string) {
  let View: ComponentType<Props> | null = null;
  return function Later(props: Props) {
    const [isFailed, setFailed] = useState(false);
    const [, setRead] = useState(View !== null);
    useEffect(() => {
      if (View) return;
      load()
        .then(({ default: read }) => {
          View = read;
          setRead(true);
        })
        .catch(() => setFailed(true));
    }, []);
    if (isFailed) return <p class="fault">{fault}</p>;
    return View ? <View {...(props as Props & preact.Attributes)} /> : <progress aria-label={loading} />;
  };
}
