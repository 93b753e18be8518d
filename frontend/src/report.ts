// The report of a fault, as a file.

import { Problem, request } from "./api";
import { t } from "./messages";
import { notify } from "./toasts";

const ABOUT = "report";

/** Ask for the report first, so that a refusal is shown; the hub keeps it for some seconds. */
export async function downloadReport(address: string): Promise<void> {
  notify(ABOUT, t.hub.reportMaking, "plain");
  try {
    await request(address);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(ABOUT, t.hub.noReport(error.message), "bad");
    return;
  }
  // A link, not a navigation: the page and its channel stay.
  Object.assign(document.createElement("a"), { href: address, download: "" }).click();
  notify(ABOUT, t.hub.reportMade, "good");
}
