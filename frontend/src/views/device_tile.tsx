// What kind of camera it is, as a picture: its maker's own where the catalog has one.

import type { Device } from "../types";

export function Tile({ device }: { device: Device }) {
  const url = device.device_type_icon_url?.replace(/^\//, "");
  return (
    <span class="tile" aria-hidden="true">
      {url ? (
        <img src={url} alt="" />
      ) : (
        <svg viewBox="0 0 24 24">
          <rect x="3" y="7" width="18" height="12" rx="2.5" />
          <circle cx="12" cy="13" r="3.2" />
          <path d="M8 7l1.5-2.5h5L16 7" />
        </svg>
      )}
    </span>
  );
}
