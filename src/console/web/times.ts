/** Points in time as people read them: by the browser's locale and in its time zone. Pure. */

type Part = Intl.DateTimeFormatOptions;

const dayParts: Part = { day: "numeric", month: "short" };

/** Times that have just passed may be ahead of a clock that is updated every second, and of one that is a little slow. */
const clockSkewMs = 5_000;

export type Times = ReturnType<typeof createTimes>;

/** `locale` and `timeZone`: by default those of the browser. */
export function createTimes(locale?: string, timeZone?: string) {
  const clockParts = clockPartsOf(locale);
  const by = (parts: Part) => {
    const format = new Intl.DateTimeFormat(locale, { ...parts, timeZone });
    return (atMs: number) => isolate(format.format(atMs));
  };
  const clock = by(clockParts);
  const clockWithSeconds = by({ ...clockParts, second: "2-digit" });
  const dayAndClock = by({ ...dayParts, ...clockParts });
  const dateAndClock = by({ ...dayParts, ...clockParts, year: "numeric" });
  const exactly = by({ ...dayParts, ...clockParts, ...exactParts });
  const dayKey = new Intl.DateTimeFormat("en", { timeZone, dateStyle: "short" });
  const yearKey = new Intl.DateTimeFormat("en", { timeZone, year: "numeric" });

  /** Today: the clock, with seconds if past; else day and clock, with the year if another. Other text stays as it is. */
  const when = (iso: string, nowMs = Date.now()) => {
    const atMs = Date.parse(iso);
    if (Number.isNaN(atMs)) return iso;
    if (yearKey.format(atMs) !== yearKey.format(nowMs)) return dateAndClock(atMs);
    if (dayKey.format(atMs) !== dayKey.format(nowMs)) return dayAndClock(atMs);
    return atMs <= nowMs + clockSkewMs ? clockWithSeconds(atMs) : clock(atMs);
  };

  /** The time with the year, the seconds and the time zone. */
  const exact = (iso: string) => {
    const atMs = Date.parse(iso);
    return Number.isNaN(atMs) ? iso : exactly(atMs);
  };

  const year = by({ year: "numeric" });
  return { when, exact, clock, clockWithSeconds, day: by(dayParts), year };
}

/** Clocks of 24 hours have two digits for each hour, those of 12 hours as many as it has. */
function clockPartsOf(locale: string | undefined): Part {
  const { hour12 } = new Intl.DateTimeFormat(locale, { hour: "numeric" }).resolvedOptions();
  return { hour: hour12 === true ? "numeric" : "2-digit", minute: "2-digit" };
}

const exactParts: Part = { year: "numeric", second: "2-digit", timeZoneName: "short" };

/** Words that are written from right to left would change the order of the English words around them. */
function isolate(text: string): string {
  return /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text) ? `\u2068${text}\u2069` : text;
}

export const browserTimes = createTimes();
export const { when, exact } = browserTimes;

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The instant of 2026-12-20T00:00 here, in ISO 8601; undefined for an empty field. */
export function toInstant(local: string): string | undefined {
  return local === "" ? undefined : new Date(local).toISOString();
}
