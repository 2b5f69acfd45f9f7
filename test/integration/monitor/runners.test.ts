import { createHash, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { anApiCheck } from "../../support/check-builders.ts";
import { startMonitorBench } from "../../support/monitor-bench.ts";

const makeHash = () => createHash("sha256").update(randomBytes(32)).digest("hex");
const add = "vedette.v1.MonitorRunners/Add";

it("a place where the program itself runs checks gets no other runner", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });

  const { status, body } = await bench.call(add, { location: "local", token_hash: makeHash() });

  expect(status).toBe(409);
  expect(body.message).toContain("local is where Vedette is");
});

it("a token that another place has is refused, at once", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });
  const token_hash = makeHash();
  await bench.call(add, { location: "fra", token_hash });

  const { status, body } = await bench.call(add, { location: "ams", token_hash });

  expect(status).toBe(409);
  expect(body.message).toContain("has this token");
});
