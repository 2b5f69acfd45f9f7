/**
 * Debian's own daemon against the times that are computed for it. Its clock stands still and is set by the test, minute
 * by minute, so that a slow machine changes nothing: what runs in a minute has run before the next one begins.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { timeAfter } from "#kernel/cron-times.ts";
import { hasNeeded } from "../../support/servers/programs.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const [faketime] = globSync("/usr/lib/*/faketime/libfaketime.so.1");
const real = it.skipIf(
  !hasNeeded({
    "Debian's cron": existsSync("/usr/sbin/cron"),
    libfaketime: faketime !== undefined,
    "root, and mounts of its own": spawnSync("unshare", ["-m", "true"]).status === 0,
  }),
);

/** It sees no other crontab, and no other daemon sees it. */
const alone = `set -e
for folder in /var/spool/cron /etc/cron.d /run; do mount -t tmpfs none "$folder"; done
mount --bind /dev/null /etc/crontab
mkdir -m 700 /var/spool/cron/crontabs
cp "$VEDETTE_FOLDER/crontab" /var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
LD_PRELOAD="$VEDETTE_FAKETIME" exec cron -f -L 0`;

/** A daemon that runs these expressions, from this time on. */
async function startCron(expressions: string[], timezone: string, fromMs: number) {
  const folder = tempDir();
  const [clock, runs] = [path.join(folder, "clock"), path.join(folder, "runs")];
  const set = (ms: number) => {
    writeFileSync(`${clock}.next`, `${ms / 1_000}`);
    renameSync(`${clock}.next`, clock);
  };
  set(fromMs);
  writeFileSync(runs, "");
  const job = (name: string | number) => `echo "$(cat ${clock}) ${name}" >>${runs}`;
  // Of one minute, the first line runs last.
  const lines = [`* * * * * ${job("tick")}`, ...expressions.map((one, i) => `${one} ${job(i)}`)];
  // Its first job, once it has read the clock: a minute that begins earlier would be none that it runs.
  const started = path.join(folder, "started");
  writeFileSync(
    path.join(folder, "crontab"),
    `${[...lines, `@reboot touch ${started}`].join("\n")}\n`,
  );
  const { pid = 0 } = spawn("unshare", ["-m", "bash", "-c", alone], {
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...{ PATH: process.env["PATH"], TZ: timezone, VEDETTE_FOLDER: folder },
      VEDETTE_FAKETIME: faketime,
      ...{ FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_FMT: "%s", FAKETIME_NO_CACHE: "1" },
    },
  });
  onTestFinished(() => void process.kill(pid));
  await waitFor(() => existsSync(started), { withinMs: 5_000, what: "the daemon" });
  const read = () => readFileSync(runs, "utf8").trim().split("\n");
  const isBusy = () => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8") !== "";
  /** Returns once all that runs in the minute has run; `last` is the name of what runs last of it. */
  const goTo = async (ms: number, last: string | number = "tick") => {
    set(ms + 1_000);
    await waitFor(
      () => {
        // It wakes up.
        process.kill(pid, "SIGCHLD");
        return read().includes(`${ms / 1_000 + 1} ${last}`) && !isBusy();
      },
      { withinMs: 10_000, what: `${last} at ${new Date(ms).toISOString()}` },
    );
  };
  return { goTo, read };
}

const changes = [
  "30 2 * * *",
  "0-59/30 2 * * *",
  "*/30 2 * * *",
  "0 1-23/2 * * *",
  "0 */2 * * *",
  "15 * * * *",
  "15 0-23 * * *",
  "45 1,2 * * 0",
  "30 2 29 3 *",
  "@hourly",
];

real.each([
  ["Europe/Berlin", "2026-10-24T23:58Z", "2026-10-25T02:03Z", null],
  ["Europe/Berlin", "2026-03-29T00:13Z", "2026-03-29T01:33Z", "2026-03-29T01:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T14:28Z", "2026-04-04T15:33Z", null],
  ["Africa/Cairo", "2026-04-23T21:43Z", "2026-04-23T22:18Z", "2026-04-23T22:00Z"],
])("Debian's cron in %s from %s to %s runs at the times that are expected", async (...given) => {
  const [timezone, from, to, gap] = given;
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  // The last that is made up for after the gap is what has its end as a fixed time.
  const last = ["0 1 24 4 *", "0 3 29 3 *"];
  const expressions = [...changes, "30 0 * * 5", "@daily", ...last];
  const { goTo, read } = await startCron(expressions, timezone, fromMs);

  for (let ms = fromMs + minute; ms <= toMs; ms += minute) {
    const isGap = gap !== null && ms === Date.parse(gap);
    await goTo(ms, isGap ? expressions.length - (timezone === "Africa/Cairo" ? 2 : 1) : "tick");
  }

  const found = expressions.map((expression, index) => {
    const times = read().filter((line) => line.endsWith(` ${index}`));
    return [expression, [...new Set(times.map((line) => (Number.parseInt(line, 10) - 1) * 1_000))]];
  });
  const expected = expressions.map((expression) => {
    const times: number[] = [];
    const next = (ms: number) => timeAfter({ expression, timezone }, ms) ?? toMs + 1;
    for (let ms = next(fromMs); ms <= toMs; ms = next(ms)) times.push(ms);
    return [expression, times];
  });
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
});

const days = [
  "0 5 1-7 * */7",
  "0 5 */1 * 1-5",
  "0 5 */2 * 1-5",
  "0 5 1-31/2 * 1-5",
  "0 5 13 * 5",
  "0 5 *,1 * 1",
  "0 5 1,* * 1",
  "0 5 * * 5-7",
  "0 5 */10 * */2",
  "0 5 1-7 nov-DEC Sun",
];

real("Debian's cron runs on the days that are expected", async () => {
  const [firstMs, count] = [Date.parse("2026-11-01T05:00Z"), 40];
  const { goTo, read } = await startCron(days, "UTC", firstMs - day);

  for (let index = 0; index < count; index += 1) await goTo(firstMs + index * day);

  const expected = days.flatMap((expression, index) => {
    const times: string[] = [];
    const next = (ms: number) => timeAfter({ expression, timezone: "UTC" }, ms) ?? 0;
    for (let ms = next(firstMs - day); ms < firstMs + count * day; ms = next(ms)) {
      times.push(`${ms / 1_000 + 1} ${index}`);
    }
    return times;
  });
  const found = read().filter((line) => !line.endsWith("tick"));
  expect(found.sort()).toEqual(expected.sort());
});
