// The end of a session at this screen.

import { useState } from "preact/hooks";
import { signOut } from "../channel";
import { t } from "../messages";
import { notify } from "../toasts";

export const hasSessions = Boolean(document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-sessions"]')?.content);

/** Whether it has ended; what is in the way is said. */
export async function endSession(): Promise<boolean> {
  try {
    await signOut();
    return true;
  } catch (error) {
    notify("hub", t.hub.stillSignedIn((error as Error).message), "bad");
    return false;
  }
}

export function SignOut() {
  const [isAsking, setAsking] = useState(false);
  const end = async () => {
    setAsking(true);
    if (!(await endSession())) setAsking(false);
  };
  return (
    <button type="button" class="quiet small sign-out" disabled={isAsking} onClick={() => void end()}>
      {t.hub.signOut}
    </button>
  );
}
