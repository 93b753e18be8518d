import { render } from "preact";
import { follow } from "./channel";
import { Shell } from "./views/shell";

const page = document.getElementById("page");
if (page) {
  render(<Shell />, page);
  follow();
}
