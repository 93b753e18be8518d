// What the page has read by the time it reads a view: each of those views imports this, so that all of them share one file
// with the page. Else each set of views that share something has a file of its own, which the page needs before it is drawn.

import "../bluetooth";
import "../check";
import "../draft";
import "../dropped";
import "../models";
import "../past_events";
import "../rig";
import "../route";
import "../signal_history";
import "../tilesets";
import "../times";
import "./badge";
import "./device_actions";
import "./device_tile";
import "./later";
import "./menu";
import "./open_form";
import "./order";
import "./past";
import "./progress";
import "./rig";
import "./state_badge";
import "./still";
import "./where";
