// The first script of a document: it has its colours before it is drawn.

import { followTheme } from "./theme";

followTheme();
