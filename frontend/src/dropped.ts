// A list of cameras that was dropped on the page: it opens the dialog that reads it, whatever view is shown.

import { signal } from "@preact/signals";
import { openStep, route } from "./route";
import { isCurrent } from "./state";

/** Text or a file that the dialog has not read yet. */
export const dropped = signal<File | null>(null);

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

addEventListener("dragover", (event) => {
  if (hasFiles(event)) event.preventDefault();
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  // Otherwise the browser would leave the page and show the file, passwords and all.
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (!file || !isCurrent.value) return;
  dropped.value = file;
  if (route.value.view !== "add") openStep(0);
});
