/** kill -9 of the whole program and of Postgres while keys are used and made. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Credentials } from "#embedded/contract.ts";
import { type Part, type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;
let rootKey: string;

beforeAll(async () => {
  program = await startProgram();
  const file = path.join(program.dataDir, "credentials.json");
  rootKey = Credentials.parse(JSON.parse(readFileSync(file, "utf8"))).root_key;
});

afterAll(() => program?.dispose());

type Answer = { status: number; data: Record<string, unknown> };

/** Throws when the program was killed before it answered. */
async function call(procedure: string, body: unknown): Promise<Answer> {
  const response = await fetch(`${program.endpoints().api}/v2/${procedure}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  const { data = {} } = (await response.json()) as { data?: Record<string, unknown> };
  return { status: response.status, data };
}

const credits = 100_000;

/** Calls one after the other on `workers` lines until `until` is aborted. */
async function underLoad(workers: number, until: AbortSignal, once: () => Promise<void>) {
  const line = async () => {
    while (!until.aborted) await once().catch(() => {});
  };
  await Promise.all(Array.from({ length: workers }, line));
}

it.each<Part>(["main", "postgres"])(
  "neither loses nor spends credits twice, and leaves no half key, when %s is killed",
  { retry: 0 },
  async (part) => {
    const { data: api } = await call("apis.createApi", { name: `crash of ${part}` });
    const made = await call("keys.createKey", {
      apiId: api["apiId"],
      credits: { remaining: credits },
    });
    const workers = 8;
    const over = new AbortController();
    let accepted = 0;
    const keys: string[] = [];

    const spending = underLoad(workers, over.signal, async () => {
      const { data } = await call("keys.verifyKey", { key: made.data["key"] });
      if (data["code"] === "VALID") accepted += 1;
    });
    const making = underLoad(2, over.signal, async () => {
      const { status, data } = await call("keys.createKey", {
        apiId: api["apiId"],
        permissions: ["crash.read"],
        recoverable: true,
        ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
      });
      if (status === 200) keys.push(String(data["keyId"]));
    });
    await waitFor(() => accepted > 200 && keys.length > 5, { withinMs: 30_000, what: "load" });
    program.kill9(part);
    over.abort();
    await Promise.all([spending, making]);
    if (part === "main") await program.start();
    await waitFor(
      async () => (await call("keys.getKey", { keyId: made.data["keyId"] })).status === 200,
      { withinMs: 60_000, what: "the API to be back" },
    );

    const after = await call("keys.getKey", { keyId: made.data["keyId"] });
    const { remaining } = after.data["credits"] as { remaining: number };
    // What was in flight may have been spent without an answer; one for each caller at most.
    expect(credits - remaining).toBeGreaterThanOrEqual(accepted);
    expect(credits - remaining).toBeLessThanOrEqual(accepted + workers);
    await expectWhole(keys);
  },
);

/** Every key that was answered is there with all that it was made with. */
async function expectWhole(keyIds: readonly string[]): Promise<void> {
  for (const keyId of keyIds) {
    const { data } = await call("keys.getKey", { keyId, decrypt: true });
    expect(data).toMatchObject({
      permissions: ["crash.read"],
      ratelimits: [{ name: "requests" }],
      plaintext: expect.any(String),
    });
  }
}
