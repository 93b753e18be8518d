import { render } from "preact";
import { follow } from "./channel";
import { loadModels } from "./models";
import { link } from "./state";
import { showState } from "./tab";
import { followTilesets } from "./tilesets";
import { Shell } from "./views/shell";

/** So long the outline stands, if the hub says nothing; then the page says that it is opening. */
const OUTLINE_MS = 200;

const page = document.getElementById("page");
if (page) {
  follow();
  void loadModels().catch(() => undefined);
  let isDrawn = false;
  const draw = () => {
    if (isDrawn) return;
    isDrawn = true;
    render(<Shell />, page);
    followTilesets();
    showState();
  };
  // Drawn once, with what the hub says, and not twice.
  const stop = link.subscribe((now) => {
    if (now !== "starting") draw();
  });
  setTimeout(() => (stop(), draw()), OUTLINE_MS);
}
