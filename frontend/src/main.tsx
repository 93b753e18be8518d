import { render } from "preact";
import { follow } from "./channel";
import { showState } from "./tab";
import { followTilesets } from "./tilesets";
import { Shell } from "./views/shell";

const page = document.getElementById("page");
if (page) {
  render(<Shell />, page);
  follow();
  followTilesets();
  showState();
}
