/** A Docker engine, or what stands before it, that answers anything. */
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fleetConfig } from "#fleet/config.ts";
import { UnreachableError, UnwantedError } from "#fleet/drivers/driver.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createLog } from "#kernel/log.ts";
import { buildDockerHost } from "../../support/docker/fleet.ts";
import {
  answerJson,
  type EngineScript,
  scriptedImage,
  startScriptedEngine,
} from "../../support/docker/scripted-engine.ts";

const order = { sentinelId: "one/gw", image: "r.io/gateway:v2", deployId: "d1" };
const password = "s3cr3t-of-the-registry";

async function start(script?: EngineScript) {
  const engine = await startScriptedEngine(script);
  const hosts = [buildDockerHost({ url: engine.url })];
  const docker = { hosts, stable_seconds: 0 };
  const driver = drivers.docker({
    fleet: fleetConfig.fleet.parse({ driver: "docker", deploy_timeout_seconds: 4, docker }),
    dataDir: "unused",
    apiUrl: "http://127.0.0.1:9",
    rootKey: "root",
    findCredential: () => ({ user: "us", password }),
    log: createLog({ level: "silent", format: "json" }),
  });
  onTestFinished(driver.stop);
  return { driver, state: engine.state };
}

/** Where a list of containers, an image or a container is asked for. */
const onList =
  (act: (answer: ServerResponse) => unknown): EngineScript =>
  ({ path }, answer) => {
    if (!path.startsWith("/containers/json")) return false;
    act(answer);
    return true;
  };

function pour(answer: ServerResponse, chunk: string): void {
  const go = () => {
    while (!answer.destroyed && answer.write(chunk));
  };
  answer.on("drain", go);
  go();
}

it.each(["removing", "dead"])(
  "a new container that is %s leaves its place to the old one",
  async (status) => {
    const labels = { "vedette.sentinel": "", "vedette.deploy": "d1", "vedette.replaces": "c1" };
    const base = { Image: "sha256:i1", ImageID: "sha256:i1", Status: "", Labels: labels };
    const made = { ...base, Id: "c2", Names: ["/gw"], State: status };
    const old = { ...base, Id: "c1", Names: ["/gw.prev"], State: "exited", Labels: {} };
    const state = { Status: "exited", Running: false };
    const started: string[] = [];
    const { driver } = await start(({ method, path }, answer) => {
      if (path.startsWith("/containers/json")) return answerJson(answer, 200, [made, old]);
      if (path === "/containers/c1/json") {
        const info = {
          Id: "c1",
          Name: "/gw.prev",
          Image: "sha256:i1",
          State: state,
          ...unchanging,
        };
        return answerJson(answer, 200, info);
      }
      if (method === "POST" && path.endsWith("/start")) started.push(path);
      return false;
    });

    await driver.observe(order);

    await vi.waitUntil(() => started.length > 0, { timeout: 30_000 });
    expect(started[0]).toBe("/containers/c1/start");
  },
);

const unchanging = {
  Config: { Image: "r.io/gateway:v1", Labels: { "vedette.sentinel": "" } },
  HostConfig: { NetworkMode: "host" },
  NetworkSettings: { Networks: {} },
};

const lists: [string, (answer: ServerResponse) => unknown][] = [
  ["no JSON", (answer) => answer.end("<html>")],
  ["no list", (answer) => answerJson(answer, 200, { containers: [] })],
  ["other types", (answer) => answerJson(answer, 200, [{ Id: 7, Names: "gw" }])],
  ["an item that is null", (answer) => answerJson(answer, 200, [null])],
  ["a failure", (answer) => answerJson(answer, 500, { message: "boom" })],
  ["a failure in plain text", (answer) => answer.writeHead(502).end("Bad Gateway")],
  ["another place", (answer) => answer.writeHead(302, { location: "http://127.0.0.1:9/" }).end()],
  [
    "half of it",
    (answer) => {
      answer.write("[");
      setImmediate(() => answer.destroy());
    },
  ],
  ["without an end", (answer) => pour(answer, " ".repeat(1_048_576))],
  ["a proxy's refusal", (answer) => answer.writeHead(403).end("<h1>Forbidden</h1>")],
];

describe("a list that an engine answers with", () => {
  it.each(lists)("%s is no fleet, and says why in a few words", async (_, act) => {
    const { driver } = await start(onList(act));

    const refused = await driver.list().catch((error: unknown) => error);

    expect(refused).toBeInstanceOf(UnreachableError);
    expect((refused as Error).message).toMatch(/^(unreachable|unauthorized): .{5,300}$/);
  });
});

describe("an engine", () => {
  it("is asked in its new version after it was replaced by another one", async () => {
    let newest = "1.41";
    const { driver } = await start(({ path, version }, answer) => {
      if (path === "/_ping") {
        answer.writeHead(200, { "api-version": newest }).end();
        return true;
      }
      const message = `client version ${version} is too old. Minimum supported API version is 1.44`;
      return version === "1.41" && newest !== "1.41" && answerJson(answer, 400, { message });
    });
    await driver.list();
    newest = "1.52";

    await expect(driver.list()).rejects.toThrow(/another version/);

    expect(await driver.list()).toMatchObject([{ id: "one/gw", image: scriptedImage }]);
  });

  it.each([
    ["1.39", /config_invalid: .*1\.40 is the oldest/],
    ["", /no Docker engine answers/],
  ])("of the API '%s' is refused", async (version, words) => {
    const { driver } = await start(({ path }, answer) => {
      if (path !== "/_ping") return false;
      answer.writeHead(200, version === "" ? {} : { "api-version": version }).end();
      return true;
    });

    await expect(driver.list()).rejects.toThrow(words);
  });

  it("is not told what is no longer wanted by the time that it could be", async () => {
    const created: string[] = [];
    const { driver } = await start(({ path }) => {
      if (path.startsWith("/containers/create")) created.push(path);
      return false;
    });
    let questions = 0;

    const refused = driver.apply(order, { isWanted: () => ++questions > 1 });

    await expect(refused).rejects.toBeInstanceOf(UnwantedError);
    expect([questions, created]).toEqual([1, []]);
  });

  it("whose proxy forbids changes fails the deploy as its own fault", async () => {
    const { driver } = await start(({ method, path }, answer) => {
      if (method !== "POST" || path.startsWith("/images")) return false;
      answer.writeHead(403).end("<h1>Forbidden</h1>");
      return true;
    });

    expect(await driver.apply(order)).toEqual({
      failure: "unauthorized: the engine of one answered 403",
      isOfApi: true,
    });
  });

  it.each([
    ["an error after 200", 200, `{"errorDetail":{"message":"unauthorized: ${"x".repeat(900)}"}}`],
    ["an error in plain text", 500, "no basic auth credentials"],
  ])(
    "that answers a pull with %s fails the order, without the password",
    async (_, status, body) => {
      const { driver } = await start(({ path, method }, answer) => {
        if (path.startsWith("/images/") && method === "GET") return answerJson(answer, 404, {});
        if (!path.startsWith("/images/create")) return false;
        answer.writeHead(status).end(body);
        return true;
      });

      const { failure = "" } = await driver.apply(order);

      expect(failure).toMatch(/^image_auth: .{5,320}$/);
      expect(failure).not.toContain(password);
    },
  );

  it("that pours out a pull without an end is left when the time is over", async () => {
    const { driver } = await start(({ path, method }, answer) => {
      if (path.startsWith("/images/") && method === "GET") return answerJson(answer, 404, {});
      if (!path.startsWith("/images/create")) return false;
      pour(answer, "x".repeat(65_536));
      return true;
    });

    await expect(driver.apply(order)).rejects.toThrow(/^unreachable: .*no answer in time/);
  });

  it("that says done and does nothing is not asked without a pause", async () => {
    const made = {
      Id: "c2",
      Names: ["/gw.next"],
      Image: "r.io/gateway:v2",
      ImageID: "sha256:i2",
      State: "created",
      Status: "Created",
      Labels: { "vedette.sentinel": "", "vedette.deploy": "d1", "vedette.replaces": "c0" },
    };
    const { driver, state } = await start(({ path }, answer) => {
      if (path.startsWith("/containers/json")) return answerJson(answer, 200, [made]);
      if (!path.startsWith("/containers/c2/json")) return false;
      return answerJson(answer, 200, {
        Id: "c2",
        Name: "/gw.next",
        Image: "sha256:i2",
        State: { Status: "created", Running: false },
        Config: { Image: made.Image, Labels: made.Labels },
        HostConfig: { NetworkMode: "host" },
        NetworkSettings: { Networks: {} },
      });
    });

    await driver.observe(order);
    await delay(2_000);

    expect(state.requests).toBeGreaterThan(5);
    expect(state.requests).toBeLessThan(60);
  });
});
