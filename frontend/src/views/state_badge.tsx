// The badge of a camera of this hub.

import { stateOf } from "../camera_state";
import { isCurrent } from "../state";
import type { Device } from "../types";
import { Badge } from "./badge";

export const StateBadge = ({ device }: { device: Device }) => <Badge state={stateOf(device)} isCurrent={isCurrent.value} />;
