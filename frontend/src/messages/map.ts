// The texts of the map.

import { inLanguage } from "../messages";

const en = {
  title: "Map",
  tileset: "Tileset",
  none: "No map is configured. Copy one to the hub, name it in /etc/wifimgrd/wifimgrd.toml, and restart wifimgrd-http:",
  example: '[[tiles.source]]\ntileset = "world"\ntype = "pmtiles"\npath = "/srv/tiles/world.pmtiles"',
  unreadable: "The map could not be loaded.",
  vector: "Vector tiles",
  vectorHint: "To display them in QGIS or MapLibre, use this TileJSON address:",
  zoom: (from: number, to: number) => `zoom ${from} to ${to}`,
  label: (name: string) => `Map ${name}`,
};

export const mapWords = inLanguage({ en });
