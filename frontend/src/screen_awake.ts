// A tablet on the wall does not go dark, where its browser lets a page ask for that: over HTTPS, and on the hub itself.

import { useEffect } from "preact/hooks";

export function useScreenAwake(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | null = null;
    let isOver = false;
    const ask = () => {
      if (document.visibilityState !== "visible") return;
      navigator.wakeLock
        ?.request("screen")
        .then((given) => {
          lock = given;
          if (isOver) void given.release();
        })
        // Refused, as with an empty battery: the wall is there all the same.
        .catch(() => undefined);
    };
    ask();
    // The browser takes it back with the page's last sight.
    document.addEventListener("visibilitychange", ask);
    return () => {
      isOver = true;
      document.removeEventListener("visibilitychange", ask);
      void lock?.release();
    };
  }, []);
}
