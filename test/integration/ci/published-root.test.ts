/** The trusted root of an instance of Sigstore, by TUF from a mirror that is there or away. */
import { globSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { sigstoreConfig } from "#ci/sigstore/config.ts";
import { createSigstore } from "#ci/sigstore/sigstore.ts";
import { attach, createSigner, release } from "../../support/ci/signer.ts";
import { subject } from "../../support/ci/sigstore-bench.ts";
import { startTufMirror } from "../../support/ci/tuf-mirror.ts";
import { tempDir } from "../../support/temp-dir.ts";

const day = 24 * 60 * 60_000;

/** An instance whose signature of the image is attached, and checks of it that may be of different days. */
async function createInstance() {
  const signer = await createSigner();
  const mirror = await startTufMirror(signer.trustedRoot);
  const folder = tempDir();
  const cacheDir = path.join(folder, "cache");
  const tufRoot = path.join(folder, "root.json");
  writeFileSync(tufRoot, mirror.rootJson);
  const attachment = attach(await signer.signStatement({ digest: subject.digest }));
  const clock = { nowMs: Date.now() };
  const warnings: unknown[] = [];
  const log = { warn: (_fields: unknown, message?: string) => void warnings.push(message) };
  const settings = { identities: { release }, tuf_url: mirror.url, tuf_root: tufRoot };
  /** As a process that was just started. */
  const start = () => {
    const parts = { cacheDir, log, nowMs: () => clock.nowMs };
    const sigstore = createSigstore(sigstoreConfig.parse(settings), parts);
    return async () => {
      const { result } = await sigstore.checkSignature(subject, [attachment]);
      return result;
    };
  };
  return { mirror, clock, warnings, start, tufRoot, cacheDir };
}

it("trusts what the mirror publishes", async () => {
  const { start } = await createInstance();

  expect(await start()()).toBe("passed");
});

it("asks the mirror once a day", async () => {
  const { mirror, clock, start } = await createInstance();
  const check = start();
  await check();
  const asked = mirror.requests.length;

  clock.nowMs += day - 1;
  await check();
  const askedSameDay = mirror.requests.length;
  clock.nowMs += 1;
  await check();

  expect(askedSameDay).toBe(asked);
  expect(mirror.requests.length).toBeGreaterThan(asked);
});

it("checks at the same time ask the mirror once", async () => {
  const { mirror, start } = await createInstance();
  const check = start();

  await Promise.all([check(), check()]);

  expect(mirror.requests.filter((url) => url === "/timestamp.json")).toHaveLength(1);
});

it("a process that is started again on that day does not ask", async () => {
  const { mirror, start } = await createInstance();
  await start()();
  await mirror.stop();

  expect(await start()()).toBe("passed");
});

it("uses its copy for a week while the mirror is away", async () => {
  const { mirror, clock, start } = await createInstance();
  await start()();
  await mirror.stop();

  clock.nowMs += 6 * day;

  expect(await start()()).toBe("passed");
});

it("does not know whom to trust when the mirror was away for longer", async () => {
  const { mirror, clock, start } = await createInstance();
  await start()();
  await mirror.stop();

  clock.nowMs += 7 * day;

  expect(await start()()).toBe("unavailable");
});

it("does not know whom to trust when the mirror is away and there is no copy", async () => {
  const { mirror, start } = await createInstance();
  await mirror.stop();

  expect(await start()()).toBe("unavailable");
});

it("does not ask again at once when the mirror failed", async () => {
  const { mirror, clock, start } = await createInstance();
  const check = start();
  await check();
  mirror.state.behaviour = "fails";
  clock.nowMs += day;
  await check();
  const asked = mirror.requests.length;

  await check();
  const askedAtOnce = mirror.requests.length;
  clock.nowMs += 5 * 60_000;
  await check();

  expect(askedAtOnce).toBe(asked);
  expect(mirror.requests.length).toBeGreaterThan(asked);
});

it("gives up within 10 s on a mirror that never answers", async () => {
  const { mirror, start } = await createInstance();
  mirror.state.behaviour = "hangs";
  const startedMs = performance.now();

  const result = await start()();

  expect(result).toBe("unavailable");
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

it("the log is told that the mirror failed", async () => {
  const { mirror, clock, start, warnings } = await createInstance();
  await start()();
  mirror.state.behaviour = "fails";
  clock.nowMs += day;

  await start()();

  expect(warnings).toEqual(["cannot refresh the trusted root of sigstore"]);
});

it("a copy of the future is not trusted to be fresh", async () => {
  const { mirror, clock, start } = await createInstance();
  await start()();
  await mirror.stop();

  clock.nowMs -= day;

  expect(await start()()).toBe("unavailable");
});

it("a mirror that is signed by others is not trusted", async () => {
  const { start, tufRoot } = await createInstance();
  const { rootJson } = await startTufMirror({});
  writeFileSync(tufRoot, rootJson);

  expect(await start()()).toBe("unavailable");
});

it("a copy by one root is not used for another", async () => {
  const { start, tufRoot } = await createInstance();
  await start()();
  const { rootJson } = await startTufMirror({});
  writeFileSync(tufRoot, rootJson);

  expect(await start()()).toBe("unavailable");
});

it("a damaged copy is loaded again", async () => {
  const { start, cacheDir } = await createInstance();
  await start()();
  const [folder = ""] = await readdir(cacheDir);
  writeFileSync(path.join(cacheDir, folder, "trusted_root.json"), "{");

  expect(await start()()).toBe("passed");
});

it("a root that a kill has cut short is loaded again", async () => {
  const { start, clock, cacheDir } = await createInstance();
  await start()();
  const [cut = ""] = globSync("**/root.json", { cwd: cacheDir });
  writeFileSync(path.join(cacheDir, cut), '{"signed":');
  clock.nowMs += 8 * day;

  expect(await start()()).toBe("passed");
});

it("a folder that cannot be written is no word about the image", async () => {
  const { start, cacheDir } = await createInstance();
  await rm(cacheDir, { recursive: true, force: true });
  writeFileSync(cacheDir, "a file");

  expect(await start()()).toBe("unavailable");
});
