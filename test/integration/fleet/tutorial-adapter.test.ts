/** The adapter of docs/tutorial.md keeps to what docs/fleets.md says of a fleet. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { openTerminals } from "../../support/program/terminals.ts";
import { fileOf, readTutorial, takePorts } from "../../support/repository/tutorial.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const dir = makeTempDir();
const env = { PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}` };
const terminals = openTerminals({ cwd: dir.path, env });
const image = (tag: string) => `registry.example.com/shop:${tag}`;

let url: string;
let driver: ReturnType<typeof createHttpDriver>;

beforeAll(async () => {
  const steps = readTutorial();
  const { put, fleet } = await takePorts();
  const crash = 'if (process.env.VERSION === "v2-crash") process.exit(7);\n';
  mkdirSync(path.join(dir.path, "secrets"));
  writeFileSync(path.join(dir.path, "secrets/FLEET_TOKEN"), "fleet-token\n");
  writeFileSync(path.join(dir.path, "api.mjs"), crash + fileOf(steps, "api.mjs"));
  writeFileSync(path.join(dir.path, "fleet.mjs"), put(fileOf(steps, "fleet.mjs")));
  url = `http://127.0.0.1:${fleet}`;
  driver = createHttpDriver({ url, token: "fleet-token" });
  await terminals.start("1", "node fleet.mjs\n", (output) => output.split("v1 listens").length > 4);
});

afterAll(async () => {
  await driver?.stop();
  await terminals.close();
  dir.remove();
});

/** Orders the image for a sentinel, and answers how that ended. */
async function deploy(sentinelId: string, tag: string, deployId: string) {
  const order = { sentinelId, image: image(tag), deployId };
  await driver.apply(order);
  return waitFor(
    async () => {
      const seen = await driver.observe(order);
      return seen.status !== "progressing" && seen;
    },
    { withinMs: 10_000, what: `${deployId} to end` },
  );
}

it("lists four healthy sentinels with their regions and labels", async () => {
  const listed = await waitFor(
    async () => {
      const all = await driver.list();
      return all.every(({ healthy }) => healthy) && all;
    },
    { withinMs: 10_000, what: "the sentinels to serve" },
  );

  expect(listed.map(({ id, region, labels }) => [id, region, labels?.["tier"]])).toEqual([
    ["shop-1", "eu", "canary"],
    ["shop-2", "eu", "stable"],
    ["shop-3", "us", "stable"],
    ["shop-4", "us", "stable"],
  ]);
});

it("a deploy ends ready with the image running", async () => {
  expect(await deploy("shop-2", "v2", "d-1")).toMatchObject({
    status: "ready",
    running_image: image("v2"),
  });
});

it("an image whose process ends has failed, and the previous one still serves", async () => {
  const seen = await deploy("shop-3", "v2-crash", "d-2");
  const listed = (await driver.list()).find(({ id }) => id === "shop-3");

  expect(seen).toMatchObject({ status: "failed", reason: "the process ended with 7" });
  expect(listed).toMatchObject({ healthy: true, running_image: image("v1") });
});

it("the same deploy again changes nothing", async () => {
  await deploy("shop-4", "v2-crash", "d-3");
  await driver.apply({ sentinelId: "shop-4", image: image("v2-crash"), deployId: "d-3" });

  const again = await driver.observe({
    sentinelId: "shop-4",
    image: image("v2-crash"),
    deployId: "d-3",
  });

  expect(again.status).toBe("failed");
});

it.each(["GET /sentinels", "GET /sentinels/shop-1", "PUT /sentinels/shop-1"])(
  "%s without the token is refused",
  async (call) => {
    const [method = "GET", at = ""] = call.split(" ");

    const answer = await fetch(`${url}${at}`, { method, headers: { authorization: "Bearer no" } });

    expect(answer.status).toBe(401);
  },
);

it.each([
  ["GET", "shop-9", undefined, 404],
  ["PUT", "shop-1", "no json", 400],
])("%s of %s with the body %s is answered %i", async (method, id, body, status) => {
  const headers = { authorization: "Bearer fleet-token" };

  const answer = await fetch(`${url}/sentinels/${id}`, { method, headers, ...(body && { body }) });

  expect(answer.status).toBe(status);
});
