// A camera over time: its signal and battery, and below them, on the same axis, sessions with their interruptions and
// recovery steps, recordings, problems and errors. Values are read by the pointer, by the arrow keys, and in a table.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Problem } from "../api";
import { atHub } from "../hub_clock";
import { t } from "../messages";
import { type History, readHistory } from "../signal_history";
import { samples } from "../state";
import { dayOfYear, minute, moment } from "../times";
import type { Device, HistoryRow } from "../types";
import { isBad, isOutage } from "../past_rows";
import "./shared";

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const RANGES = { hour: HOUR_S, day: DAY_S, week: 7 * DAY_S } as const;
type Range = keyof typeof RANGES;
const RANGE_NAMES = Object.keys(RANGES) as Range[];
/** One row of the table stands for so long. */
const TABLE_STEP_S: Record<Range, number> = { hour: 5 * 60, day: HOUR_S, week: 6 * HOUR_S };

const HEIGHT = 236;
/** Below signal and battery, which are 0 to 100, in their units. */
const LANES = { session: -18, recording: -34, problem: -50, error: -66 } as const;
const LANE = 10;
const BOTTOM = -72;
const FRESH_MS = 60_000;

interface Span {
  from: number;
  to: number;
}

interface Marks {
  sessions: Span[];
  interruptions: Span[];
  /** Of the hub, for a camera that does not answer. */
  recoveries: Span[];
  recordings: Span[];
  problems: Span[];
  /** From each loss of the connection until the camera was connected again. */
  losses: Span[];
  /** Failed attempts, ends of the connection, commands that the camera did not obey, and adapters that were unplugged. */
  errors: number[];
}

const hubNow = (): number => atHub(Date.now());
const seconds = (time: string | null): number => (time === null ? hubNow() : Date.parse(time)) / 1_000;

/** What went wrong at one moment. */
const isMoment = (row: HistoryRow): boolean =>
  (isBad(row) && ["failure", "refusal", "wake"].includes(row.kind)) || (row.kind === "adapter" && row.code === "unplugged");

/** The newest row is the first. A recording that was not seen to end goes on until `recordsUntil`; null is now. */
function marksOf(rows: readonly HistoryRow[], lostAt: string | null, recordsUntil: string | null): Marks {
  const of = (kind: HistoryRow["kind"]) => rows.filter((row) => row.kind === kind);
  const span = (row: HistoryRow): Span => ({ from: seconds(row.time), to: seconds(row.ended) });
  const sessions = of("session");
  const ends = sessions.filter((row) => row.ended && isOutage(row)).map((row) => seconds(row.ended));
  const between = sessions.flatMap((row, index): Span[] => {
    const next = sessions[index - 1];
    return next && row.ended && isOutage(row) ? [{ from: seconds(row.ended), to: seconds(next.time) }] : [];
  });
  const interruptions = of("interruption").map(span);
  return {
    sessions: sessions.map(span),
    interruptions,
    losses: [...interruptions, ...between, ...(lostAt === null ? [] : [{ from: seconds(lostAt), to: seconds(null) }])],
    recordings: of("recording").map((row) => span({ ...row, ended: row.ended ?? recordsUntil })),
    recoveries: of("recovery").map(span),
    problems: of("problem").map(span),
    errors: [...rows.filter(isMoment).map((row) => seconds(row.time)), ...ends],
  };
}

/** Whether there is anything to show of the battery. */
const hasBattery = ({ battery }: History): boolean => battery.some((level) => level !== null);

/** Time, mean, minimum and battery, with an empty value in each gap, so that no line crosses it. */
function columnsOf({ step_s, samples: kept, battery }: History, { losses }: Marks): uPlot.AlignedData {
  const times: number[] = [];
  const means: (number | null)[] = [];
  const minima: (number | null)[] = [];
  const levels: (number | null)[] = [];
  for (const [index, [time, mean, minimum]] of kept.entries()) {
    const at = seconds(time);
    const before = times[times.length - 1];
    const lost = before !== undefined && losses.find(({ from }) => from > before && from < at);
    if (before !== undefined && (lost || at - before > 2 * step_s)) {
      times.push(lost ? lost.from : before + step_s);
      means.push(null);
      minima.push(null);
      levels.push(null);
    }
    times.push(at);
    means.push(mean);
    minima.push(minimum);
    levels.push(battery[index] ?? null);
  }
  return [times, means, minima, levels];
}

/** As times stand everywhere else on the page; midnight is its day. */
function axisTime(at: number, step: number): string {
  const time = new Date(at * 1_000);
  const isMidnight = time.getHours() === 0 && time.getMinutes() === 0;
  return (step < DAY_S && !isMidnight ? minute : dayOfYear)(time);
}

const root = document.documentElement;
const shown = () => root.dataset.theme ?? "";
/** A plot that is drawn keeps its colours: another theme needs another one. */
const theme = signal(shown());
new MutationObserver(() => (theme.value = shown())).observe(root, { attributeFilter: ["data-theme"] });

const colour = (name: string): string => getComputedStyle(root).getPropertyValue(name).trim();

/** Beneath the lines. */
function shadeLosses(plot: uPlot, { losses }: Marks): void {
  const { ctx, bbox } = plot;
  const top = plot.valToPos(100, "y", true);
  const bottom = plot.valToPos(0, "y", true);
  ctx.save();
  ctx.fillStyle = colour("--bad-ground");
  for (const { from, to } of losses) {
    const left = Math.floor(Math.max(bbox.left, plot.valToPos(from, "x", true)));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(to, "x", true));
    if (right > bbox.left) ctx.fillRect(left, top, Math.max(devicePixelRatio, right - left), bottom - top);
  }
  ctx.restore();
}

function drawMarks(plot: uPlot, { sessions, interruptions, recoveries, recordings, problems, errors }: Marks): void {
  const { ctx, bbox } = plot;
  const y = (value: number) => plot.valToPos(value, "y", true);
  const x = (value: number) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(value, "x", true)));
  const bars = (spans: readonly Span[], lane: number, name: string, share = 1) => {
    ctx.fillStyle = colour(name);
    for (const { from, to } of spans) {
      const left = x(from);
      const width = Math.max(devicePixelRatio * 2, x(to) - left);
      if (x(to) > bbox.left) ctx.fillRect(left, y(lane), width, (y(lane - LANE) - y(lane)) * share);
    }
  };
  ctx.save();
  bars(sessions, LANES.session, "--good");
  bars(interruptions, LANES.session, "--surface", 0.7);
  bars(recoveries, LANES.session, "--text");
  bars(recordings, LANES.recording, "--recording");
  bars(problems, LANES.problem, "--busy");
  bars(errors.map((at) => ({ from: at, to: at })), LANES.error, "--bad");
  ctx.restore();
}

const countIn = (spans: readonly Span[], begin: number): number => spans.filter((one) => one.to >= begin).length;

interface Props {
  device: Device;
  past: readonly HistoryRow[] | null;
}

export function Timeline({ device, past }: Props) {
  const [range, setRange] = useState<Range>("hour");
  const [history, setHistory] = useState<History | null>(null);
  const [fault, setFault] = useState("");
  // The newest minute comes with the next reading; how often is enough for a plot of an hour.
  const [turn, setTurn] = useState(0);
  const measured = samples.value.get(device.id)?.length ?? 0;
  useEffect(() => {
    const timer = setInterval(() => setTurn((before) => before + 1), FRESH_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    let isWanted = true;
    readHistory(device.id, RANGES[range] * 1_000)
      .then((answer) => isWanted && (setHistory(answer), setFault("")))
      .catch((error: unknown) => isWanted && setFault(error instanceof Problem ? error.message : t.hub.failed));
    return () => void (isWanted = false);
  }, [device.id, range, turn, device.connected, measured > 0]);
  const since = device.connected && device.camera?.recording ? device.camera.recording_since : null;
  const isOpen = past?.some((row) => row.kind === "recording" && row.ended === null) ?? false;
  // Not seen to end, it went on when the camera was last read.
  const until = isOpen && since === null ? (device.camera?.read_at ?? null) : null;
  const marks = useMemo(() => {
    const found = marksOf(past ?? [], device.lost_at, until);
    // The history that was read may be older than the recording.
    return since === null || isOpen ? found : { ...found, recordings: [...found.recordings, { from: seconds(since), to: seconds(null) }] };
  }, [past, turn, since, until, device.lost_at]);
  const begin = hubNow() / 1_000 - RANGES[range];
  const summary = t.plot.summary({
    sessions: countIn(marks.sessions, begin),
    interruptions: countIn(marks.interruptions, begin),
    recordings: countIn(marks.recordings, begin),
    recoveries: countIn(marks.recoveries, begin),
    problems: countIn(marks.problems, begin),
    errors: marks.errors.filter((at) => at >= begin).length,
  });
  return (
    <>
      <div class="plot-head">
        <strong>{t.plot.ranges[range].title}</strong>
        <span class="legend">
          <span class="signal-key">{t.plot.signal}</span>
          {history && hasBattery(history) && <span class="battery-key">{t.plot.battery}</span>}
          <span class="session-key">{t.plot.session}</span>
          <span class="loss-key">{t.plot.loss}</span>
          {marks.recoveries.length > 0 && <span class="recovery-key">{t.plot.recovery}</span>}
          <span class="recording-key">{t.plot.recording}</span>
          {marks.problems.length > 0 && <span class="problem-key">{t.plot.problem}</span>}
          <span class="error-key">{t.plot.error}</span>
        </span>
        <div class="segments" role="group" aria-label={t.plot.range}>
          {RANGE_NAMES.map((one) => (
            <button key={one} type="button" aria-pressed={range === one} onClick={() => setRange(one)}>
              {t.plot.ranges[one].name}
            </button>
          ))}
        </div>
      </div>
      {fault && <p class="fault">{fault}</p>}
      {history && <Plot key={theme.value} history={history} marks={marks} range={range} label={`${t.plot.ranges[range].title}: ${summary}`} />}
      {history && <Table history={history} range={range} />}
    </>
  );
}

interface PlotProps {
  history: History;
  marks: Marks;
  range: Range;
  label: string;
}

function Plot({ history, marks, range, label }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const current = useRef(marks);
  current.current = marks;
  // A value that far from the pointer is another time's.
  const nearest = useRef(0);
  nearest.current = Math.max(2 * history.step_s, RANGES[range] / 100);
  const data = useMemo(() => columnsOf(history, marks), [history, marks]);
  const [at, setAt] = useState<number | null>(null);
  const times = data[0];

  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const font = `12px ${getComputedStyle(element).fontFamily}`;
    const axis = { stroke: colour("--faint"), font, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { setScale: false, x: false } },
        scales: { y: { range: [BOTTOM, 100] } },
        axes: [
          { ...axis, space: 84, values: (_plot, splits, _axis, _space, step) => splits.map((one) => axisTime(one, step)) },
          { ...axis, size: 44, splits: () => [0, 50, 100], values: (_, values) => values.map((one) => t.reading.percent(one)) },
        ],
        series: [
          {},
          { stroke: colour("--accent"), fill: colour("--accent-ground"), fillTo: 0, width: 1.5, points: { show: false } },
          { stroke: colour("--faint"), width: 1, dash: [2, 3], points: { show: false } },
          { stroke: colour("--busy"), width: 2, points: { show: false } },
        ],
        hooks: {
          drawClear: [(one) => shadeLosses(one, current.current)],
          draw: [(one) => drawMarks(one, current.current)],
          setCursor: [
            ({ cursor: { idx, left }, data: [times], posToVal }) => {
              const isNear = idx != null && Math.abs((times[idx] ?? 0) - posToVal(left ?? 0, "x")) <= nearest.current;
              // A pointer that leaves takes nothing away from who reads by keys.
              if (isNear) setAt(idx);
              else if (idx != null || document.activeElement !== element) setAt(null);
            },
          ],
        },
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    const end = hubNow() / 1_000;
    made.setData(data, false);
    made.setScale("x", { min: end - RANGES[range], max: end });
  }, [data, range, marks]);
  useEffect(() => {
    setAt(null);
    plot.current?.setCursor({ left: -10, top: -10 });
  }, [range]);

  const move = (event: KeyboardEvent) => {
    const made = plot.current;
    const last = times.length - 1;
    const far = Math.max(1, Math.round(times.length / 10));
    const next = {
      ArrowLeft: (at ?? last + 1) - 1,
      ArrowRight: (at ?? -1) + 1,
      PageDown: (at ?? last + 1) - far,
      PageUp: (at ?? -1) + far,
      Home: 0,
      End: last,
    }[event.key];
    if (!made || next === undefined || last < 0) return;
    event.preventDefault();
    const index = Math.min(last, Math.max(0, next));
    made.setCursor({ left: made.valToPos(times[index] ?? 0, "x"), top: 0 });
    setAt(index);
  };
  const read = at === null ? "" : readOut(data, at);
  return (
    <>
      <div
        ref={place}
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={read || t.plot.none}
        onKeyDown={move}
      />
      <p class="read-out">{read || (times.length ? t.plot.hint : t.plot.none)}</p>
    </>
  );
}

function readOut(data: uPlot.AlignedData, at: number): string {
  const [time, mean, minimum, battery] = [data[0][at], data[1]?.[at], data[2]?.[at], data[3]?.[at]];
  if (time === undefined) return "";
  const when = moment(new Date(time * 1_000).toISOString());
  if (mean == null || minimum == null) return t.plot.gap(when);
  const value = t.plot.value(when, mean, minimum);
  return battery == null ? value : t.plot.valueWithBattery(value, battery);
}

/** The same as numbers, for those who cannot see it. */
function Table({ history, range }: { history: History; range: Range }) {
  const step = TABLE_STEP_S[range];
  const rows = new Map<number, { sum: number; count: number; minimum: number; battery: number | null }>();
  for (const [index, [time, mean, minimum]] of history.samples.entries()) {
    const from = Math.floor(seconds(time) / step) * step;
    const row = rows.get(from) ?? { sum: 0, count: 0, minimum: 100, battery: null };
    rows.set(from, {
      sum: row.sum + mean,
      count: row.count + 1,
      minimum: Math.min(row.minimum, minimum),
      battery: history.battery[index] ?? row.battery,
    });
  }
  if (rows.size === 0) return null;
  const isBatteryShown = hasBattery(history);
  return (
    <details>
      <summary>{t.plot.asTable}</summary>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">{t.plot.from}</th>
            <th scope="col">{t.plot.mean}</th>
            <th scope="col">{t.plot.lowest}</th>
            {isBatteryShown && <th scope="col">{t.plot.lastBattery}</th>}
          </tr>
        </thead>
        <tbody>
          {[...rows].map(([from, { sum, count, minimum, battery }]) => (
            <tr key={from}>
              <th scope="row">{moment(new Date(from * 1_000).toISOString())}</th>
              <td>{t.reading.percent(Math.round(sum / count))}</td>
              <td>{t.reading.percent(minimum)}</td>
              {isBatteryShown && <td>{battery === null ? t.plot.unknown : t.reading.percent(battery)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
