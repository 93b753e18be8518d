// The badge of a camera of this hub.

import { stateOf } from "../camera_state";
import { isCurrent } from "../state";
import type { Device } from "../types";
import { Badge, RecordingBadge } from "./badge";
import { useRecordingLabel } from "./reading";

export function StateBadge({ device }: { device: Device }) {
  const label = useRecordingLabel(device);
  return label ? <RecordingBadge label={label} /> : <Badge state={stateOf(device)} isCurrent={isCurrent.value} />;
}
