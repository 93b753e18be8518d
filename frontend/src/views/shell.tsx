// The frame around the views: title, how the hub is, and the way from one view to the other.

import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api";
import { joinNow, signOut } from "../channel";
import { isCommandingMany, recordOnMany } from "../commands";
import { t } from "../messages";
import { isOfRig, mayRecord } from "../reading";
import { downloadReport } from "../report";
import { route, type View } from "../route";
import { capitalised, printable } from "../sentences";
import { devices, interfaces, isCurrent, link, linkReason, service } from "../state";
import { notify } from "../toasts";
import { tilesets } from "../tilesets";
import { AdaptersAtAGlance } from "./adapters";
import { CameraPage } from "./camera_page";
import { OpenForm } from "./device_forms";
import { Devices, isList } from "./devices";
import { EventsAtAGlance } from "./events";
import { Login } from "./login";
import { Dialog } from "./parts";
import "./shared";
import { Toasts } from "./toasts";

/** Behind the page of a camera, the focus is on its link in the list again. */
function useFocusAfterRoute(): void {
  const shown = route.value;
  const before = useRef(shown);
  useEffect(() => {
    const left = before.current;
    before.current = shown;
    if (left.view === "camera" && shown.view === "cameras") {
      document.querySelector<HTMLElement>(`a[href="#camera/${left.id}"]`)?.focus();
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

const hasSessions = Boolean(document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-sessions"]')?.content);

const VIEWS: readonly View[] = ["cameras", "takes", "adapters", "events", "map"];

export function Shell({ onDrawn }: { onDrawn: () => void }) {
  useFocusAfterRoute();
  const isWhole = useAfterFirstFrame(onDrawn);
  if (link.value === "locked") return <Login />;
  const shown = route.value;
  const view = shown.view === "camera" || shown.view === "add" ? "cameras" : shown.view;
  // A list of many needs the width.
  const hasOverview = view === "cameras" && (shown.view === "camera" || !isList());
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        {t.hub.skip}
      </a>
      <header>
        <h1>{t.hub.title}</h1>
        <nav aria-label={t.hub.views}>
          {VIEWS.filter((name) => name !== "map" || tilesets.value?.length).map((name) => (
            <a key={name} href={`#${name}`} aria-current={name === view ? "page" : undefined}>
              {t.hub[name]}
            </a>
          ))}
        </nav>
        <HubState />
        <RecordOnAll />
        {hasSessions && <SignOut />}
      </header>
      <Banner />
      <main id="content" tabIndex={-1} class={`${hasOverview ? "with-overview" : ""}${isCurrent.value ? "" : " stale"}`}>
        {view === "cameras" && (shown.view === "camera" ? <CameraPage id={shown.id} /> : <Devices />)}
        {hasOverview && isWhole && (
          <aside class="beside" aria-label={t.hub.glance}>
            <AdaptersAtAGlance />
            <EventsAtAGlance limit={12} of={shown.view === "camera" ? shown.id : null} />
          </aside>
        )}
        {view === "takes" && <Later key="takes" load={loadTakes} loading={t.takes.loading} fault={t.hub.viewUnreadable} />}
        {view === "adapters" && <Later key="adapters" load={loadAdapters} loading={t.camera.loading} fault={t.hub.viewUnreadable} />}
        {view === "events" && <Later key="events" load={loadEvents} loading={t.camera.loading} fault={t.hub.viewUnreadable} />}
        {view === "map" && <Later key="map" load={loadMap} loading={t.hub.mapLoading} fault={t.hub.mapUnreadable} />}
      </main>
      <footer>
        <a href="docs">{t.hub.api}</a>
        <a href="metrics">{t.hub.metrics}</a>
        <a href="diagnose" onClick={(event) => (event.preventDefault(), void downloadReport("diagnose"))}>
          {t.hub.report}
        </a>
        {fleet && <a href={fleet}>{t.fleet.link}</a>}
        <a href={licenses}>{t.hub.licenses}</a>
        <Version />
      </footer>
      <OpenForm />
      <Toasts />
    </>
  );
}

/** Always there where a camera can do it, and enabled also where it changes nothing: the buttons keep their places and the focus. */
function RecordOnAll() {
  const [isStopping, setStopping] = useState(false);
  const everyone = [...devices.value.values()];
  const running = everyone.filter((one) => one.connected && one.camera?.recording).length;
  const unknown = everyone.filter(mayRecord);
  const isAsked = running > 0 || unknown.length > 0;
  useEffect(() => {
    if (!isAsked) setStopping(false);
  }, [isAsked]);
  if (!everyone.some((one) => one.camera)) return null;
  const rig = everyone.filter(isOfRig);
  // What is stopped by a slip of the finger is lost.
  const stop = () => (isAsked ? setStopping(true) : void recordOnMany(false));
  const button = (words: string, name: string, isPossible: boolean, act: () => void) => (
    <button
      type="button"
      class={name}
      disabled={!isCurrent.value || !isPossible}
      aria-busy={isCommandingMany.value}
      title={rig.length > 0 ? t.cameras.forRig(rig.length) : t.answers.noneToRecord}
      onClick={act}
    >
      {words}
    </button>
  );
  return (
    <div class="record-on-all">
      {button(t.cameras.recordOnAll, "start", rig.length > 0, () => void recordOnMany(true))}
      {button(t.cameras.stopAll, "", rig.length > 0 || isAsked, stop)}
      {isStopping && <StopAll running={running} unknown={unknown.map((one) => printable(one.name))} onClose={() => setStopping(false)} />}
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

function SignOut() {
  const [isAsking, setAsking] = useState(false);
  const end = async () => {
    setAsking(true);
    try {
      await signOut();
    } catch (error) {
      setAsking(false);
      notify("hub", t.hub.stillSignedIn((error as Error).message), "bad");
    }
  };
  return (
    <button type="button" class="quiet small sign-out" disabled={isAsking} onClick={() => void end()}>
      {t.hub.signOut}
    </button>
  );
}

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

/** Whether no adapter is there, or none that can be used: then no camera can be connected. */
function lackOfAdapters(): "none" | "unusable" | null {
  if (!isCurrent.value || service.value?.backend_state !== "ready") return null;
  const all = [...interfaces.value.values()];
  if (all.length === 0) return "none";
  return all.every((one) => one.state === "unavailable") ? "unusable" : null;
}

function HubState() {
  const isLive = link.value === "live";
  const backend = service.value?.backend_state ?? "starting";
  const [tone, words] =
    link.value === "starting" ? ["starting", t.hub.opening]
    : !isLive ? ["unavailable", t.hub.noConnection]
    : backend === "starting" ? ["starting", t.hub.starting]
    : backend !== "ready" ? ["unavailable", t.hub.unavailable]
    : lackOfAdapters() ? ["limited", t.hub.noAdapter]
    : ["ready", t.hub.ready];
  return (
    <span class={`hub-state ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {words}
      {service.value?.backend === "simulated" && <span class="simulated">{t.hub.simulated}</span>}
    </span>
  );
}

/** What is wrong with the whole, as long as it is: said first, on every size. */
function Banner() {
  if (link.value === "lost") {
    return (
      <div class="banner" role="alert">
        <p>
          <strong>{linkReason.value}</strong> {t.hub.remembered}
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
          {state === "unavailable" && ` ${t.hub.lastKnown}`}
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

interface LaterProps {
  load: () => Promise<{ default: ComponentType }>;
  loading: string;
  fault: string;
}

const loadTakes = () => import("./takes");
const loadAdapters = () => import("./adapters_view");
const loadEvents = () => import("./events_view");
const loadMap = () => import("./map");

/** A view that is read from the hub when it is opened, and not before. */
function Later({ load, loading, fault }: LaterProps) {
  const [Loaded, setLoaded] = useState<{ View: ComponentType } | null>(null);
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    load().then(({ default: View }) => setLoaded({ View })).catch(() => setFailed(true));
  }, []);
  if (isFailed) return <p class="fault">{fault}</p>;
  return Loaded ? <Loaded.View /> : <progress aria-label={loading} />;
}
