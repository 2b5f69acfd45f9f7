/** `vedette status`, and the same on the console's first page, over a program with things that are wrong. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

type Fleet = { url: string; down: Set<string>; isFailing: boolean; stop: () => void };

const image = "registry.example.com/vedette/sentinel:v1";

/** Three sentinels by the protocol of the `http` driver, of which those of `down` are unhealthy. */
async function startFleet(): Promise<Fleet> {
  const down = new Set<string>();
  const server = createServer((_, answer) => {
    const sentinels = ["gw-1", "gw-2", "gw-3"].map((id) => {
      return { id, region: "eu", image, healthy: !down.has(id) };
    });
    answer.writeHead(fleet.isFailing ? 500 : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify({ sentinels }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fleet: Fleet = { url, down, isFailing: false, stop: () => server.close() };
  return fleet;
}

let fleet: Fleet;
let program: Program;

const status = (...options: string[]) =>
  runVedette(["status", ...options], { VEDETTE_DATA_DIR: program.dataDir });

/** Asks until the status says it. */
function statusWith(words: RegExp) {
  return waitFor(
    async () => {
      const end = await status();
      return words.test(end.stdout) && end;
    },
    { withinMs: 60_000, what: `the status to say ${words}` },
  );
}

beforeAll(async () => {
  fleet = await startFleet();
  program = await startProgram({
    VEDETTE_FLEET__DRIVER: "http",
    VEDETTE_FLEET__HTTP__URL: fleet.url,
    VEDETTE_FLEET__HTTP__TOKEN: "fleet-token",
    VEDETTE_FLEET__LIST_EVERY_SECONDS: "1",
    // Nothing listens there.
    VEDETTE_INCIDENT__URL: "http://127.0.0.1:9",
    VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: "source",
    VEDETTE_ALERTS__PRODUCTION__TOKEN: "incident-token-4711",
  });
});

afterAll(async () => {
  await program?.dispose();
  fleet?.stop();
});

describe("the status", () => {
  it("says with exit code 0 that nothing is wrong", async () => {
    const { code, stdout } = await statusWith(/Nothing is wrong/);

    expect(stdout).toMatch(/singleton +no rollout yet +3 +0 /);
    expect(stdout).toMatch(/open alerts: 0/);
    expect(code).toBe(0);
  });

  it("says with exit code 2 which sentinels are down, and which command says more", async () => {
    fleet.down.add("gw-2");
    const { code, stdout } = await statusWith(/is down/);
    const { stdout: json } = await status("--json");

    expect(stdout).toContain("1 of 3 sentinels is down: gw-2");
    expect(stdout).toContain("npx vedette sentinels list");
    expect(code).toBe(2);
    expect(JSON.parse(json)).toMatchObject({
      wrong: [{ about: "sentinels", fleet: "singleton" }],
      fleets: [{ name: "singleton", rollout: { state: "idle" }, overview: { unhealthy: 1 } }],
    });
  });

  it("has open alerts, deliveries that fail, and the fleet's own error with the age of its list", async () => {
    const token = randomBytes(32).toString("base64url");
    const token_hash = createHash("sha256").update(token).digest("hex");
    await program.post("vedette.v1.Heartbeat/certificate-workflow/Register", { token_hash });
    await fetch(`${program.endpoints().control}/${token}/fail`);
    fleet.isFailing = true;

    await statusWith(/Certificate Workflow alerts since .* UTC/);
    await statusWith(/1 delivery to channel production not accepted: /);
    const { stdout } = await statusWith(/the list of the fleet is .* old: .*500/);

    expect(stdout).toContain("npx vedette checks history certificate-workflow");
    expect(stdout).toContain("npx vedette alerts events");
    expect(stdout).toContain("npx vedette doctor");
    expect(stdout).not.toContain("incident-token-4711");
  });

  it.skipIf(!hasBrowser)("is the first thing on the console's first page", async () => {
    const { page } = await openPage({});
    await page.goto(`${program.endpoints().control}/console`);
    await page.getByLabel("Token").fill(program.token());
    await page.getByRole("button", { name: "Sign in" }).click();

    const wrong = page.getByRole("region", { name: "What is wrong" });
    await wrong.getByText("Customers may be hurt.").waitFor();
    await wrong.getByText("1 of 3 sentinels is down: gw-2").click();

    await page.getByText("1–1 of 1", { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("health")).toBe("unhealthy");
  });
});

it("a status that nobody answers is an error with exit code 1", async () => {
  const { code, stderr } = await runVedette(["status", "--url", "http://127.0.0.1:9"], {
    INGRESS_TOKEN: "token",
  });

  expect(stderr).toMatch(/127\.0\.0\.1:9/);
  expect(code).toBe(1);
});
