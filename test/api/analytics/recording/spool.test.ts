import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Batch } from "#api/analytics/batch.ts";
import {
  openSpool,
  type Spool,
  SpoolDamagedError,
  SpoolFullError,
  type SpoolSettings,
} from "#api/analytics/recording/spool.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const maxBytes = 1_000_000;

/** Left as a crash leaves it while the test runs. */
async function open(settings: SpoolSettings): Promise<Spool> {
  const spool = await openSpool(settings);
  onTestFinished(() => spool.close());
  return spool;
}

function batch(token: string, text = token): Batch {
  return { token, table: "ratelimits_v1", rows: 2, body: Buffer.from(`${text}\n`) };
}

async function drain(spool: Spool): Promise<string[]> {
  const tokens: string[] = [];
  for (let next = await spool.peek(); next !== undefined; next = await spool.peek()) {
    tokens.push(next.token);
    await spool.acknowledge(next);
  }
  return tokens;
}

function segmentFiles(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".spool"))
    .map((name) => path.join(dir, name));
}

it("the spool gives batches back whole and in the order they came, over many segments", async () => {
  const spool = await open({ dir: tempDir(), maxBytes, segmentBytes: 300 });
  const tokens = Array.from({ length: 20 }, (_, index) => `batch-${index}`);
  for (const token of tokens) await spool.append(batch(token));

  const first = await spool.peek();
  const drained = await drain(spool);

  expect(first).toEqual(batch("batch-0"));
  expect(drained).toEqual(tokens);
});

it("the spool continues after a crash where it was, without what was acknowledged", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes, segmentBytes: 300 });
  for (const token of ["a", "b", "c", "d", "e"]) await crashed.append(batch(token));
  for (let stored = 0; stored < 3; stored += 1) {
    await crashed.acknowledge((await crashed.peek()) as Batch);
  }

  const spool = await open({ dir, maxBytes, segmentBytes: 300 });

  expect(spool.rows()).toBe(4);
  expect(await drain(spool)).toEqual(["d", "e"]);
});

it("the spool leaves out a torn record at the end and keeps those before it", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes });
  await crashed.append(batch("whole"));
  await crashed.append(batch("torn"));
  const [file = ""] = segmentFiles(dir);
  truncateSync(file, readFileSync(file).length - 3);

  const spool = await open({ dir, maxBytes });
  await spool.append(batch("later"));

  expect(spool.damaged).toEqual([{ file, bytes: expect.any(Number) }]);
  expect(await drain(spool)).toEqual(["whole", "later"]);
});

it("the spool leaves out a record whose bytes have changed", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes });
  await crashed.append(batch("changed", "0123456789"));
  const [file = ""] = segmentFiles(dir);
  writeFileSync(file, readFileSync(file, "utf8").replace("0123456789", "0123456780"));

  const spool = await open({ dir, maxBytes });

  expect(await drain(spool)).toEqual([]);
});

it("survives rubbish after the last record and in the position", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes });
  await crashed.append(batch("kept"));
  const [file = ""] = segmentFiles(dir);
  appendFileSync(file, '{"token":1}\n\0\0\0\0');
  writeFileSync(path.join(dir, "position"), "{");

  const spool = await open({ dir, maxBytes });

  expect(await drain(spool)).toEqual(["kept"]);
});

it("the spool refuses what is above its limit and takes again once there is space", async () => {
  const spool = await open({ dir: tempDir(), maxBytes: 1_000, segmentBytes: 400 });
  const large = "x".repeat(300);
  await spool.append(batch("a", large));
  await spool.append(batch("b", large));

  const refused = await spool.append(batch("c", large)).catch((error: unknown) => error);
  await drain(spool);
  await spool.append(batch("d", large));

  expect(refused).toBeInstanceOf(SpoolFullError);
  expect(await drain(spool)).toEqual(["d"]);
});

it("the spool removes the segments that have been stored", async () => {
  const dir = tempDir();
  const spool = await open({ dir, maxBytes, segmentBytes: 200 });
  for (let index = 0; index < 50; index += 1) await spool.append(batch(`batch-${index}`));

  await drain(spool);

  expect(segmentFiles(dir).length).toBeLessThanOrEqual(1);
});

it("sets a segment aside that can no longer be read and says how many rows that is", async () => {
  const dir = tempDir();
  const spool = await open({ dir, maxBytes, segmentBytes: 50 });
  await spool.append(batch("lost"));
  await spool.append(batch("kept"));
  const [file = ""] = segmentFiles(dir);
  truncateSync(file, 0);

  const error = await spool.peek().catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(SpoolDamagedError);
  expect((error as SpoolDamagedError).lostRows).toBe(2);
  expect(await drain(spool)).toEqual(["kept"]);
});

it("the spool keeps the records behind a damaged one, also over a restart, and names its file", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes });
  for (const token of ["a", "damaged", "b", "c"]) await crashed.append(batch(token));
  const [file = ""] = segmentFiles(dir);
  writeFileSync(file, readFileSync(file, "utf8").replace("damaged\n", "dam\0ged\n"));
  const first = await open({ dir, maxBytes });
  await first.acknowledge((await first.peek()) as Batch);

  const spool = await open({ dir, maxBytes });

  expect(first.damaged).toEqual([{ file, bytes: expect.any(Number) }]);
  expect(spool.rows()).toBe(4);
  expect(await drain(spool)).toEqual(["b", "c"]);
});

it.each([
  '{"segment":999,"offset":0}',
  '{"segment":1,"offset":99999}',
  '{"segment":1,"offset":-7}',
])(
  "the spool removes nothing because of the position %s, which no run has left",
  async (position) => {
    const dir = tempDir();
    const crashed = await open({ dir, maxBytes });
    await crashed.append(batch("kept"));
    writeFileSync(path.join(dir, "position"), position);

    const spool = await open({ dir, maxBytes });

    expect(await drain(spool)).toEqual(["kept"]);
  },
);

it("the spool opens beside a segment that cannot be read, and names it", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes, segmentBytes: 50 });
  await crashed.append(batch("kept"));
  const unreadable = path.join(dir, "000000000002.spool");
  mkdirSync(unreadable);

  const spool = await open({ dir, maxBytes, segmentBytes: 50 });
  await spool.append(batch("later"));

  expect(spool.damaged).toEqual([{ file: unreadable, err: expect.any(Error) }]);
  expect(await drain(spool)).toEqual(["kept", "later"]);
});

it("the spool takes a file of another name for no segment", async () => {
  const dir = tempDir();
  writeFileSync(path.join(dir, "backup.spool"), "");
  const spool = await open({ dir, maxBytes, segmentBytes: 50 });

  for (const token of ["a", "b", "c"]) await spool.append(batch(token));

  expect(await drain(spool)).toEqual(["a", "b", "c"]);
});

it("the spool gives no record out that has changed since it was written", async () => {
  const dir = tempDir();
  const spool = await open({ dir, maxBytes });
  await spool.append(batch("changed", "0123456789"));
  const [file = ""] = segmentFiles(dir);
  writeFileSync(file, readFileSync(file, "utf8").replace("0123456789", "0123456780"));

  await expect(spool.peek()).rejects.toThrow(SpoolDamagedError);
});

it("the spool takes no segment for damaged because the process has no file handles left", () => {
  const dir = tempDir();
  const script = `
    import { closeSync, openSync } from "node:fs";
    import { openSpool } from "#api/analytics/recording/spool.ts";
    const settings = { dir: ${JSON.stringify(dir)}, maxBytes: 1_000_000 };
    const body = Buffer.from("x\\n");
    await (await openSpool(settings)).append({ token: "kept", table: "ratelimits_v1", rows: 1, body });
    const spool = await openSpool(settings);
    const taken = [];
    try { for (;;) taken.push(openSync("/dev/null")); } catch {}
    const error = await spool.peek().catch((thrown) => thrown);
    taken.forEach((fd) => closeSync(fd));
    const batch = await spool.peek();
    process.stdout.write(JSON.stringify([error.code, batch?.token]));`;
  const command = 'ulimit -n 200 && exec "$0" --input-type=module -e "$1"';

  const output = execFileSync("sh", ["-c", command, process.execPath, script]);

  expect(JSON.parse(output.toString())).toEqual(["EMFILE", "kept"]);
});

it("the spool knows of an earlier run how many verifications wait, and when some were stored", async () => {
  const dir = tempDir();
  const crashed = await open({ dir, maxBytes });
  const verified: Batch = { ...batch("b"), table: "key_verifications_v1" };
  await crashed.append(batch("a"));
  await crashed.append(verified);
  const before = [crashed.verifications(), crashed.verifiedAtMs()];
  await crashed.acknowledge((await crashed.peek()) as Batch);

  const spool = await open({ dir, maxBytes });
  const left = [spool.verifications(), spool.verifiedAtMs()];
  const startedMs = Date.now();
  await drain(spool);
  const again = await open({ dir, maxBytes });

  expect([before, left]).toEqual([
    [2, 0],
    [2, 0],
  ]);
  expect([spool.verifications(), again.verifications()]).toEqual([0, 0]);
  expect(spool.verifiedAtMs()).toBeGreaterThanOrEqual(startedMs);
  expect(again.verifiedAtMs()).toBe(spool.verifiedAtMs());
});
