// The frame around the views: title, how the hub is, and the way from one view to the other.

import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api";
import { joinNow } from "../channel";
import { t } from "../messages";
import { downloadReport } from "../report";
import { route, type View } from "../route";
import { capitalised } from "../sentences";
import { interfaces, isCurrent, link, linkReason, service } from "../state";
import { tilesets } from "../tilesets";
import { isNarrow } from "../width";
import { Devices, isList } from "./devices";
import { Later } from "./later";
import { Login } from "./login";
import { openedForm } from "./open_form";
import { PhoneBar } from "./phone_bar";
import { RigBand, RigPill } from "./rig";
import "./shared";
import { hasSessions, SignOut } from "./sign_out";
import { ThemeSwitch } from "./theme_switch";
import { Toasts } from "./toasts";

/** Behind the page of a camera, or the wall, the focus is on the link that led there. */
function useFocusAfterRoute(): void {
  const shown = route.value;
  const before = useRef(shown);
  useEffect(() => {
    const left = before.current;
    before.current = shown;
    if (left.view === "camera" && shown.view === "cameras") {
      document.querySelector<HTMLElement>(`a[href="#camera/${left.id}"]`)?.focus();
    }
    if (left.view === "wall" && shown.view !== "wall") {
      document.querySelector<HTMLElement>('a[href="#wall"], .thumb .menu > button')?.focus();
    }
  }, [shown]);
}

/** False in the first frame, which has the cameras alone, so that they are there sooner. */
function useAfterFirstFrame(onDrawn: () => void): boolean {
  const [isAfter, setAfter] = useState(false);
  useEffect(() => {
    setAfter(true);
    onDrawn();
  }, []);
  return isAfter;
}

const licenses = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-licenses"]')?.content ?? "";

/** The page of all hubs, if this hub has it. */
const fleet = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-fleet"]')?.content ?? "";

const loadCamera = () => import("./camera_page");
const loadAdapters = () => import("./adapters_view");
const loadBeside = () => import("./beside");
const loadEvents = () => import("./events_view");
const loadCheck = () => import("./check");
const loadTakes = () => import("./takes");
const loadWall = () => import("./wall");
const loadMap = () => import("./map");
const loadForms = () => import("./device_forms");

const VIEWS = ["cameras", "takes", "adapters", "events", "wall", "map"] as const;

export function Shell({ onDrawn }: { onDrawn: () => void }) {
  useFocusAfterRoute();
  const isWhole = useAfterFirstFrame(onDrawn);
  useEffect(() => {
    // Adapters and events can be opened also once the hub is away.
    if (isWhole) void loadBeside().catch(() => undefined);
  }, [isWhole]);
  if (link.value === "locked") return <Login />;
  const shown = route.value;
  const view = shown.view === "camera" || shown.view === "add" ? "cameras" : shown.view;
  const hasBand = view === "cameras" && shown.view !== "camera";
  // There it is said with the limits that a person has chosen.
  const hasRig = view !== "check";
  // A list of many needs the width.
  const hasOverview = view === "cameras" && (shown.view === "camera" || !isList());
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        {t.hub.skip}
      </a>
      <header class="top" data-hub={hubState()}>
        <div class="frame">
          <h1>{t.hub.title}</h1>
          {!isNarrow.value && <Views view={view === "check" ? "cameras" : view} />}
          {hasRig && !hasBand && <RigPill />}
          {!isNarrow.value && <ThemeSwitch />}
          {!isNarrow.value && hasSessions && <SignOut />}
        </div>
      </header>
      {hasBand && <RigBand />}
      <Banner />
      <main id="content" tabIndex={-1} class={`${hasOverview ? "with-overview" : ""}${isCurrent.value ? "" : " stale"}`}>
        {view === "cameras" && (shown.view === "camera" ? <Later key="camera" load={loadCamera} props={{ id: shown.id }} loading={t.camera.loading} /> : <Devices />)}
        {hasOverview && isWhole && <Later load={loadBeside} props={{ of: shown.view === "camera" ? shown.id : null }} />}
        {view === "check" && <Later key="check" load={loadCheck} props={{}} loading={t.check.loading} />}
        {view === "takes" && <Later key="takes" load={loadTakes} props={{}} loading={t.hub.takesLoading} />}
        {view === "adapters" && <Later key="adapters" load={loadAdapters} props={{}} loading={t.adapters.loading} />}
        {view === "events" && <Later key="events" load={loadEvents} props={{}} loading={t.events.loading} />}
        {view === "wall" && <Later key="wall" load={loadWall} props={{}} loading={t.wall.loading} />}
        {view === "map" && <Later key="map" load={loadMap} props={{}} loading={t.hub.mapLoading} fault={t.hub.mapUnreadable} />}
      </main>
      <footer>
        <a href="docs">{t.hub.api}</a>
        <a href="metrics">{t.hub.metrics}</a>
        <a href="diagnose" onClick={(event) => (event.preventDefault(), void downloadReport("diagnose"))}>
          {t.hub.report}
        </a>
        {fleet && <a href={fleet}>{t.hub.allHubs}</a>}
        <a href={licenses}>{t.hub.licenses}</a>
        <Version />
        {isNarrow.value && <Simulated />}
      </footer>
      {isNarrow.value && <PhoneBar view={view} />}
      {openedForm.value && <Later load={loadForms} props={{}} />}
      <Toasts canAct={isCurrent.value} />
    </>
  );
}

function Views({ view }: { view: View }) {
  return (
    <>
      <Simulated />
      <nav aria-label={t.hub.views}>
        {VIEWS.filter((name) => name !== "map" || tilesets.value?.length).map((name) => (
          <a key={name} href={`#${name}`} aria-current={name === view ? "page" : undefined}>
            {t.hub[name]}
          </a>
        ))}
      </nav>
    </>
  );
}

const Simulated = () => (service.value?.backend === "simulated" ? <span class="simulated">{t.hub.simulated}</span> : null);

/** The daemon's version, once it is there: after an upgrade it is another one. */
function Version() {
  const [version, setVersion] = useState("");
  const isThere = isCurrent.value;
  useEffect(() => {
    if (!isThere) return;
    request<{ version: string | null }>("healthz")
      .then((answer) => setVersion(answer.version ?? ""))
      .catch(() => undefined);
  }, [isThere]);
  return version ? <span class="version">{t.hub.about(version)}</span> : null;
}

/** Whether what is shown is so now, for who looks at the page by a program. */
const hubState = (): string => (link.value === "live" ? (service.value?.backend_state ?? "starting") : link.value);

/** Whether no adapter is there, or none that can be used: then no camera can be connected. */
function lackOfAdapters(): "none" | "unusable" | null {
  if (!isCurrent.value || service.value?.backend_state !== "ready") return null;
  const all = [...interfaces.value.values()];
  if (all.length === 0) return "none";
  return all.every((one) => one.state === "unavailable") ? "unusable" : null;
}

/** What is wrong with the whole, as long as it is: said first, on every size. */
function Banner() {
  if (link.value === "lost") {
    return (
      <div class="banner" role="alert">
        <p>
          <strong>{linkReason.value}</strong> {t.hub.reconnects}
        </p>
        <button type="button" onClick={joinNow}>
          {t.hub.tryNow}
        </button>
      </div>
    );
  }
  if (link.value !== "live") return null;
  const { backend_state: state, backend_reason: reason } = service.value ?? { backend_state: "ready", backend_reason: "" };
  if (state !== "ready") {
    return (
      <div class="banner" role="alert">
        <p>
          <strong>{state === "starting" ? t.hub.isStarting : t.hub.cannotConnect}</strong>
          {reason && ` ${capitalised(reason)}.`}
        </p>
      </div>
    );
  }
  const lack = lackOfAdapters();
  if (!lack) return null;
  return (
    <div class="banner" role="alert">
      <p>
        <strong>{lack === "none" ? t.hub.noAdapterNow : t.hub.noUsableAdapter}</strong> {lack === "none" && t.hub.noAdapterAdvice}
        {lack === "unusable" && <a href="#adapters">{t.hub.seeAdapters}</a>}
      </p>
    </div>
  );
}
