/** Proofs of rollouts on a real Restate and a real Postgres, verified by openssl, too. */
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { checkProof } from "#cli/rollout/proof.ts";
import type { Envelope, PublicKey } from "#kernel/dsse.ts";
import { createProofKeysPage, rotateProofKey } from "#rollout/proof/keys.ts";
import { createProofStore } from "#rollout/proof/store.ts";
import { modes } from "../../support/replay.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import {
  startOver,
  untilInFlight,
  untilStill,
  untilWaitingFor,
} from "../../support/rollout/standstill.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

let bench: RolloutBench;

beforeAll(async () => {
  bench = await startRolloutBench({
    size: 4,
    alwaysReplay: modes.some(({ alwaysReplay }) => alwaysReplay),
  });
});

afterAll(() => bench?.stop());

afterEach(() => startOver(bench));

const halves = { image: imageV2, wave_percentages: [50, 100] };

const read = (rollout_id: unknown) => bench.post("vedette.v1.RolloutProofs/Read", { rollout_id });

const untilProven = (id: unknown) =>
  waitFor(
    async () => {
      const { status, body } = await read(id);
      return status === 200 && (body as unknown as Envelope);
    },
    { withinMs: 10_000, what: "the proof" },
  );

async function publishedKeys(): Promise<string> {
  const page = await createProofKeysPage(bench.database)("/.well-known/vedette-proof-keys.json");
  return page?.body ?? "";
}

async function predicateOf(proof: Envelope) {
  const checked = checkProof(JSON.stringify(proof), await publishedKeys());
  if (!checked.verified) throw new Error(checked.reason);
  return checked.statement.predicate;
}

const storedOf = async (id: unknown) =>
  (await bench.database.query("SELECT 1 FROM rollout_proofs WHERE rollout_id = $1", [id])).rowCount;

it("has who started, approved and confirmed, the plan, each wave, its gates and each transition", async () => {
  const gate = { kind: "pause", name: "canaries", message: "are the canaries fine?" };
  const request = { ...halves, approvals: "after_first", gates: [gate], reason: "a fix" };
  const started = bench.callAs("ada", "Rollout", request);
  await untilWaitingFor(bench, "gate");
  await bench.callAs("ben", "Approve", { gate: "canaries" });
  await untilWaitingFor(bench, "approval");
  await bench.callAs("cleo", "Approve", { reason: "looks good" });
  const { body } = await started;
  const id = body["rollout_id"];

  const proof = await predicateOf(await untilProven(id));

  expect(proof).toMatchObject({
    ...{ rollout_id: id, fleet: "singleton", image: imageV2, outcome: "completed" },
    ...{ started_by: "ada", ended_at: body["updated_at"] },
    policy: { approvals: "after_first", reason: "a fix" },
    gates: [{ kind: "pause", name: "canaries" }],
    plan: { wave_percentages: [50, 100], fleet_size: 4, total: 4, left_out: 0 },
    approvals: [{ wave: 2, by: "cleo", reason: "looks good" }],
    waves: [
      {
        ...{ wave: 1, percentage: 50, size: 2, succeeded: 2, failed: 0, unfinished: 0 },
        gates: { wave: 1, gates: [{ name: "canaries", verdict: "pass" }] },
      },
      { wave: 2, size: 2, succeeded: 2, unfinished: 0 },
    ],
  });
  expect(proof.waves[1]?.gates).toBeUndefined();
  const people = proof.events.flatMap(({ event, by }) => (by === null ? [] : [[event, by]]));
  expect(people).toEqual([
    ["rollout started", "ada"],
    ["gate confirmed", "ben"],
    ["approved", "cleo"],
  ]);
  expect(proof.events.at(0)?.event).toBe("rollout started");
  expect(proof.events.at(-1)?.event).toBe("completed");
});

it("is made at the end without a question, and stays byte by byte, whatever becomes of the rows", async () => {
  const { body } = await bench.call("Rollout", halves);
  const id = body["rollout_id"];
  await waitFor(async () => (await storedOf(id)) === 1, { withinMs: 10_000, what: "the proof" });

  const first = await read(id);
  await bench.database.query("UPDATE rollouts SET started_by = 'mallory' WHERE id = $1", [id]);
  await bench.database.query(
    "DELETE FROM rollout_messages WHERE rollout_id = $1 AND event <> 'completed'",
    [id],
  );
  const second = await read(id);

  expect(first.status).toBe(200);
  expect(second).toEqual(first);
  expect(await storedOf(id)).toBe(1);
});

it("is the same for processes that make it at once", async () => {
  const { body } = await bench.call("Rollout", halves);
  const id = String(body["rollout_id"]);
  await untilProven(id);
  await bench.database.query("DELETE FROM rollout_proofs WHERE rollout_id = $1", [id]);
  let nowMs = Date.now();
  const { ensure } = createProofStore(bench.database, () => nowMs++);

  const proofs = await Promise.all(Array.from({ length: 5 }, () => ensure(id)));

  expect(new Set(proofs.map((proof) => JSON.stringify(proof))).size).toBe(1);
});

it("of a rollback follows that of the end before it, with a greater revision", async () => {
  bench.fleet.behave(() => ({ status: "failed", reason: "crash_loop" }));
  const { body } = await bench.call("Rollout", halves);
  const id = body["rollout_id"];
  const paused = await read(id);
  await bench.call("Cancel");
  const cancelled = await predicateOf(await untilProven(id));
  bench.fleet.behave(() => ({ status: "ready" }));
  await bench.call("RollbackAll", { include_failed: true });
  const rolledBack = await waitFor(
    async () => {
      const proof = await predicateOf(await untilProven(id));
      return proof.outcome === "rolled_back" && proof;
    },
    { withinMs: 10_000, what: "the proof of the rollback" },
  );

  expect(paused.status).toBe(409);
  expect(JSON.stringify(paused.body)).toContain("it has not ended (paused)");
  expect(cancelled).toMatchObject({
    outcome: "cancelled",
    waves: [{ failed: 2 }, { unfinished: 2 }],
  });
  expect(cancelled.failures).toMatchObject([{ reason: "crash_loop" }, { reason: "crash_loop" }]);
  expect(rolledBack.waves).toMatchObject([{ reverted: 2, failed: 0 }, { unfinished: 2 }]);
  expect(rolledBack.revision).toBeGreaterThan(cancelled.revision);
});

it("says what was in flight at a Cancel, and a later one has how that ended", async () => {
  bench.fleet.hold();
  const started = bench.call("Rollout", halves);
  await untilInFlight(bench, 2);
  await bench.call("Cancel");
  const { body } = await started;
  const id = body["rollout_id"];
  const early = await predicateOf(await untilProven(id));
  bench.fleet.release();
  await untilStill(bench);
  const late = await waitFor(
    async () => {
      const proof = await predicateOf(await untilProven(id));
      return proof.waves[0]?.unfinished === 0 && proof;
    },
    { withinMs: 10_000, what: "the proof with the late results" },
  );

  expect(early.waves).toMatchObject([{ succeeded: 0, unfinished: 2 }, { unfinished: 2 }]);
  expect(late.waves).toMatchObject([{ succeeded: 2 }, { unfinished: 2 }]);
  expect(late.revision).toBeGreaterThan(early.revision);
});

it("of a rollout that is not there is a 404, which says where the ids are", async () => {
  const { status, body } = await read("none");

  expect(status).toBe(404);
  expect(JSON.stringify(body)).toContain("vedette rollout history lists their ids");
});

it("is verified with the published keys after a rotation, and the old private key is gone", async () => {
  const before = (await bench.call("Rollout", halves)).body["rollout_id"];
  const old = await untilProven(before);

  const ids = await Promise.all(
    [1, 2, 3].map(() => rotateProofKey(bench.database, "operator:test")),
  );
  await startOver(bench);
  const after = (await bench.call("Rollout", halves)).body["rollout_id"];
  const proof = await untilProven(after);

  const { keys } = JSON.parse(await publishedKeys());
  const [{ keyid: oldId }] = old.signatures;
  expect(checkProof(JSON.stringify(old), JSON.stringify({ keys }))).toMatchObject({
    verified: true,
  });
  expect(ids).toContain(proof.signatures[0].keyid);
  expect(keys[0]).toMatchObject({ kid: proof.signatures[0].keyid, alg: "EdDSA" });
  expect(keys[0].retired_at).toBeUndefined();
  expect(keys.find(({ kid }: { kid: string }) => kid === oldId).retired_at).toMatch(/^20/);
  const { rows } = await bench.database.query(
    "SELECT id FROM proof_keys WHERE private_key IS NOT NULL",
  );
  expect(rows).toEqual([{ id: keys[0].kid }]);
});

it("has a signature that openssl verifies over the bytes of the DSSE specification", async ({
  skip,
}) => {
  try {
    execFileSync("openssl", ["version"]);
  } catch {
    skip("openssl is not installed");
  }
  const proof = await untilProven((await bench.call("Rollout", halves)).body["rollout_id"]);
  const [jwk] = JSON.parse(await publishedKeys()).keys as PublicKey[];
  const payload = Buffer.from(proof.payload, "base64");
  const head = `DSSEv1 28 application/vnd.in-toto+json ${payload.length} `;
  const dir = tempDir();
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(path.join(dir, name), content);
    return path.join(dir, name);
  };
  const pem = createPublicKey({ key: jwk as PublicKey, format: "jwk" });

  const said = execFileSync("openssl", [
    ...["pkeyutl", "-verify", "-pubin", "-rawin"],
    ...["-inkey", file("key.pem", pem.export({ type: "spki", format: "pem" }))],
    ...["-in", file("signed", Buffer.concat([Buffer.from(head), payload]))],
    ...["-sigfile", file("sig", Buffer.from(proof.signatures[0].sig, "base64"))],
  ]);

  expect(said.toString()).toContain("Verified Successfully");
});
