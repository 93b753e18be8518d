// The first script to run, and a small one: it gives the page its colours before anything is drawn, opens the channel, so
// that what the hub says is there when the page is, and lets the browser draw the outline before it is busy with the page.

import { channelAddress } from "./channel_address";
import { followTheme } from "./theme";

/** The channel's first connection, and what came over it so far. */
interface FirstChannel {
  socket: WebSocket;
  messages: string[];
}

declare global {
  interface Window {
    /** Null once the page has taken it. */
    firstChannel?: FirstChannel | null;
  }
}

followTheme();

/** A page that nobody sees is never drawn. */
const LONGEST_WAIT_MS = 100;

const socket = new WebSocket(channelAddress());
const messages: string[] = [];
socket.onmessage = (message: MessageEvent<string>) => messages.push(message.data);
window.firstChannel = { socket, messages };

let isBegun = false;
function begin(): void {
  if (isBegun) return;
  isBegun = true;
  const page = document.querySelector<HTMLLinkElement>("link[data-page]");
  if (page) void import(page.href);
}
if (performance.getEntriesByType("paint").length > 0) {
  begin();
} else {
  // In a frame's own task nothing is drawn yet: after it.
  requestAnimationFrame(() => setTimeout(begin));
  setTimeout(begin, LONGEST_WAIT_MS);
}
