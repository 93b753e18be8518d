// The frame around the views: title, how the hub is, and the way from one view to the other.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { joinNow } from "../channel";
import { link, linkReason, lines, service } from "../state";
import { Adapters } from "./adapters";
import { Devices } from "./devices";
import { Events } from "./events";
import { Login } from "./login";
import { capitalised } from "./parts";

const VIEWS = { cameras: "Cameras", adapters: "Adapters", events: "Events", map: "Map" };
type View = keyof typeof VIEWS;

const view = signal<View>(viewOf(location.hash));
addEventListener("hashchange", () => (view.value = viewOf(location.hash)));

function viewOf(hash: string): View {
  const name = hash.slice(1);
  return name in VIEWS ? (name as View) : "cameras";
}

export function Shell() {
  if (link.value === "locked") return <Login />;
  const shown = view.value;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        Go to the content
      </a>
      <header>
        <h1>Camera hub</h1>
        <HubState />
        <nav aria-label="Views">
          {Object.entries(VIEWS).map(([name, title]) => (
            <a key={name} href={`#${name}`} aria-current={name === shown ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </header>
      <Banner />
      <main id="content" tabIndex={-1} class={`view-${shown}`}>
        {shown === "cameras" && (
          <>
            <Devices />
            <aside class="beside" aria-label="At a glance">
              <Adapters />
              <Events limit={12} />
            </aside>
          </>
        )}
        {shown === "adapters" && <Adapters />}
        {shown === "events" && <Events />}
        {shown === "map" && <LazyMap />}
      </main>
      <footer>
        <a href="docs">API</a>
        <a href="metrics">Metrics</a>
      </footer>
      <p class="visually-hidden" role="status">
        {lines.value[0]?.text}
      </p>
    </>
  );
}

function HubState() {
  const isLive = link.value === "live";
  const backend = service.value?.backend_state ?? "starting";
  const [tone, words] =
    link.value === "starting" ? ["starting", "Opening"]
    : !isLive ? ["unavailable", "No connection"]
    : backend === "ready" ? ["ready", "Ready"]
    : backend === "starting" ? ["starting", "Starting"]
    : ["unavailable", "Not available"];
  return (
    <span class={`hub-state ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {words}
      {service.value?.backend === "simulated" && <span class="simulated">simulated</span>}
    </span>
  );
}

/** What is wrong with the whole, as long as it is. */
function Banner() {
  if (link.value === "lost") {
    return (
      <div class="banner" role="alert">
        <p>
          <strong>{linkReason.value}</strong> What you see is how it was before; the page goes on by itself.
        </p>
        <button type="button" onClick={joinNow}>
          Try now
        </button>
      </div>
    );
  }
  const { backend_state: state, backend_reason: reason } = service.value ?? { backend_state: "ready", backend_reason: "" };
  if (link.value !== "live" || state === "ready") return null;
  return (
    <div class="banner" role="alert">
      <p>
        <strong>{state === "starting" ? "The hub is starting." : "The hub cannot connect cameras now."}</strong>
        {reason && ` ${capitalised(reason)}.`}
      </p>
    </div>
  );
}

/** The map library is read when the map is opened, and not before. */
function LazyMap() {
  const [Loaded, setLoaded] = useState<{ View: ComponentType } | null>(null);
  const [fault, setFault] = useState(false);
  useEffect(() => {
    import("./map").then(({ default: View }) => setLoaded({ View })).catch(() => setFault(true));
  }, []);
  if (fault) return <p class="fault">The map could not be read from the hub.</p>;
  return Loaded ? <Loaded.View /> : <progress aria-label="Reading the map" />;
}
