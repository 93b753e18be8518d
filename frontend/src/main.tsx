import { render } from "preact";
import { follow } from "./channel";
import { link } from "./state";
import { showState } from "./tab";
import { followTilesets } from "./tilesets";
import { Shell } from "./views/shell";

/** What no camera's state waits for. */
function followTheRest(): void {
  followTilesets();
  showState();
}

/** So long the outline stands, if the hub says nothing; then the page says that it is opening. */
const OUTLINE_MS = 200;

const page = document.getElementById("page");
if (page) {
  follow();
  let isDrawn = false;
  const draw = () => {
    if (isDrawn) return;
    isDrawn = true;
    render(<Shell onDrawn={followTheRest} />, page);
  };
  // Drawn once, with what the hub says, and not twice.
  const stop = link.subscribe((now) => {
    if (now !== "starting") draw();
  });
  setTimeout(() => (stop(), draw()), OUTLINE_MS);
}
