// Times for people. A format is made once, when it is first needed: `toLocaleString` makes one at each call, which
// takes longer than all else in a line.

import { hubTime } from "./hub_clock";
import { t } from "./messages";

/** Where the day has twelve hours, an hour has no leading zero. */
function formatOf(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const format = new Intl.DateTimeFormat([], options);
  return format.resolvedOptions().hour12 && options.hour === "2-digit" ? new Intl.DateTimeFormat([], { ...options, hour: "numeric" }) : format;
}

function formatted(options: Intl.DateTimeFormatOptions): (time: string | Date) => string {
  let format: Intl.DateTimeFormat | undefined;
  return (time) => {
    const then = new Date(time);
    if (Number.isNaN(then.getTime())) return String(then);
    format ??= formatOf(options);
    return format.format(then);
  };
}

const DAY = { year: "numeric", month: "numeric", day: "numeric" } as const;

/** The time of a day. */
export const minute = formatted({ hour: "2-digit", minute: "2-digit" });
export const second = formatted({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const dateOf = formatted(DAY);
export const dayOfYear = formatted({ month: "numeric", day: "numeric" });
export const dayAndSecond = formatted({ ...DAY, hour: "numeric", minute: "numeric", second: "numeric" });

/** A point in time, in few words: with the day where it is another one. */
export const moment = (time: string): string =>
  new Date(time).toDateString() === new Date(hubTime.peek()).toDateString() ? minute(time) : `${dateOf(time)} ${minute(time)}`;

/** The same where there is no room for both: of another day the day alone. */
export const momentInShort = (time: string): string => (isDaysAgo(time, 0) ? minute(time) : dayOfYear(time));
/** The same to the second: what happened within one minute has an order. */
export const exactMoment = (time: string): string =>
  new Date(time).toDateString() === new Date(hubTime.peek()).toDateString() ? second(time) : `${dateOf(time)} ${second(time)}`;

const dayOf = (time: string | number): string => new Date(time).toDateString();

/** When a day began, so many days ago, in milliseconds since the epoch. */
export function dayBegin(days: number): number {
  const day = new Date(hubTime.peek());
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - days);
  return day.getTime();
}

/** Whether it is of the day that it is now, by the hub's clock, or of so many days before. */
export const isDaysAgo = (time: string, days: number): boolean => dayOf(time) === dayOf(dayBegin(days));

/** A day by its name, if it has one. */
export const dayWords = (time: string): string =>
  isDaysAgo(time, 0) ? t.events.today : isDaysAgo(time, 1) ? t.events.yesterday : dateOf(time);
