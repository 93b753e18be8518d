// The offline map: what tilesets the hub has, and a look at those that are pictures.

import { control, Map as LeafletMap, TileLayer } from "leaflet";
import { useEffect, useRef, useState } from "preact/hooks";
import { mapWords } from "../messages/map";
import { tilesetsChanged } from "../state";
import { tilesets, tilesetsFault } from "../tilesets";
import type { Tileset } from "../types";
import { Faults } from "./parts";
import "./shared";

export default function MapView() {
  const [wanted, setWanted] = useState("");
  const listed = tilesets.value;
  const pictures = listed?.filter(isPicture) ?? [];
  const vectors = listed?.filter((one) => !isPicture(one)) ?? [];
  const shown = pictures.find((one) => one.tileset === wanted) ?? pictures[0];
  return (
    <section aria-labelledby="map-title" class="map-section">
      <div class="section-head">
        <h2 id="map-title" tabIndex={-1}>
          {mapWords.title}
        </h2>
        {pictures.length > 1 && (
          <label class="inline">
            {mapWords.tileset}
            <select value={shown?.tileset} onChange={(event) => setWanted(event.currentTarget.value)}>
              {pictures.map((one) => (
                <option key={one.tileset} value={one.tileset}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Faults id="map-fault" sentences={tilesetsFault.value ? [tilesetsFault.value] : undefined} />
      {listed?.length === 0 && (
        <div class="empty">
          <p>{mapWords.none}</p>
          <pre>{mapWords.example}</pre>
        </div>
      )}
      {shown && <Tiles key={`${shown.tileset} ${tilesetsChanged.value}`} tileset={shown} />}
      {vectors.length > 0 && (
        <>
          <h3>{mapWords.vector}</h3>
          <p>{mapWords.vectorHint}</p>
          <ul class="rows">
            {vectors.map((one) => (
              <li class="row" key={one.tileset}>
                <div>
                  <strong>{one.name}</strong>
                  <small>
                    {mapWords.zoom(one.minzoom, one.maxzoom)} · <a href={one.url}>{one.url}</a>
                  </small>
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** TileJSON has vector layers for vector tiles, and for these alone. */
const isPicture = (tileset: Tileset) => !tileset.vector_layers;

function Tiles({ tileset }: { tileset: Tileset }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!element.current) return undefined;
    const [west, south, east, north] = tileset.bounds;
    const map = new LeafletMap(element.current, { minZoom: tileset.minzoom, maxZoom: tileset.maxzoom + 3 });
    map.attributionControl.setPrefix(false);
    control.scale().addTo(map);
    new TileLayer(relative(tileset.tiles[0] ?? ""), {
      minZoom: tileset.minzoom,
      maxZoom: tileset.maxzoom + 3,
      maxNativeZoom: tileset.maxzoom,
      bounds: [
        [south, west],
        [north, east],
      ],
      attribution: plainText(tileset.attribution ?? ""),
    }).addTo(map);
    if (tileset.center) map.setView([tileset.center[1], tileset.center[0]], tileset.center[2]);
    else
      map.fitBounds([
        [south, west],
        [north, east],
      ]);
    return () => void map.remove();
  }, []);
  return <div ref={element} class="map" role="application" aria-label={mapWords.label(tileset.name)} />;
}

/** A tile's address as seen from the page, whatever names lead to the hub. */
const relative = (address: string) => address.slice(address.indexOf("/tiles/") + 1);

/** An attribution may hold markup, of a file that somebody made: only its text is shown. */
function plainText(markup: string): string {
  const text = new DOMParser().parseFromString(markup, "text/html").body.textContent ?? "";
  return text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);
}
