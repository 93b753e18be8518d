import { render } from "preact";
import { FleetPage } from "./views/page";

const page = document.getElementById("page");
if (page) render(<FleetPage />, page);
