// The frame of the page: how the connection is, what is wrong with the whole, and the hubs.

import { t } from "../../messages";
import { fleetWords } from "../../messages/fleet";
import { ThemeSwitch } from "../../views/theme_switch";
import { Toasts } from "../../views/toasts";
import { address, denied, hubs, link, reason, signOut, tryNow } from "../broker";
import { frame } from "../frame";
import { MOST } from "../hubs";
import { Fleet } from "./fleet";
import { FleetBand } from "./fleet_band";
import { SignIn } from "./sign_in";

const licenses = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-licenses"]')?.content ?? "";

const TONES = { loading: "starting", live: "ready", lost: "unavailable" } as const;

export function FleetPage() {
  const now = link.value;
  if (now === "signed-out" || now === "connecting") return <SignIn />;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        {t.hub.skip}
      </a>
      <header class="top of-fleet">
        <div class="frame">
          <h1>{fleetWords.title}</h1>
          <span class={`hub-state ${TONES[now]}`} title={address}>
            <span class="dot" aria-hidden="true" />
            {fleetWords[now]}
          </span>
          <ThemeSwitch />
          <button type="button" class="quiet small sign-out" onClick={signOut}>
            {fleetWords.signOut}
          </button>
        </div>
      </header>
      <FleetBand />
      <Banner />
      <main id="content" tabIndex={-1}>
        <Fleet />
      </main>
      <footer>
        <a href={licenses}>{t.hub.licenses}</a>
      </footer>
      <Toasts />
    </>
  );
}

/** What is wrong with the whole, as long as it is. */
function Banner() {
  if (link.value === "lost") {
    return (
      <div class="banner" role="alert">
        <p>
          <strong>{reason.value}</strong> {hubs.all.length > 0 && fleetWords.lastKnown} {t.hub.reconnects}
        </p>
        <button type="button" onClick={tryNow}>
          {t.hub.tryNow}
        </button>
      </div>
    );
  }
  void frame.value;
  const sentences = [denied.value, hubs.isCut && fleetWords.cut(MOST)].filter(Boolean);
  if (sentences.length === 0) return null;
  return (
    <div class="banner" role="alert">
      <p>{sentences.join(" ")}</p>
    </div>
  );
}
