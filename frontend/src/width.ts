// Whether the page is as narrow as on a phone, as in the style sheet.

import { signal } from "@preact/signals";

const phone = matchMedia("(max-width: 48rem)");

export const isNarrow = signal(phone.matches);

phone.addEventListener("change", () => (isNarrow.value = phone.matches));
