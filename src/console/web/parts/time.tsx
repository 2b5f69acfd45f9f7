import { ago } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { exact, when } from "#console/web/times.ts";

/** A point in time, in ISO 8601: the clock or the date, or how long ago it was. The exact time is its title. */
export function Time({ iso, isAge = false }: { iso: string; isAge?: boolean }) {
  return (
    <time dateTime={iso} title={exact(iso)}>
      {isAge ? ago(iso, nowMs.value) : when(iso, nowMs.value)}
    </time>
  );
}
