// The badge of a camera of this hub.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { stateOf } from "../camera_state";
import { isCurrent } from "../state";
import type { Device } from "../types";
import { Badge, RecordingBadge } from "./badge";
import { useRecordingLabel } from "./reading";

export function StateBadge({ device }: { device: Device }) {
  const label = useRecordingLabel(device);
  const isRecording = useMemo(() => computed(() => label.value !== ""), [label]);
  if (isRecording.value) return <RecordingBadge label={label} />;
  const state = stateOf(device);
  // Another state is another badge: its words have another width, and nothing else has moved.
  return <Badge key={state} state={state} isCurrent={isCurrent.value} />;
}
