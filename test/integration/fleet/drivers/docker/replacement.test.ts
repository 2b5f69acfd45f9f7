/** Containers of a real engine, replaced. */
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { DockerDriverSettings } from "#fleet/drivers/docker/driver.ts";
import type { DeployOrder, Driver } from "#fleet/drivers/driver.ts";
import {
  canRunEngines,
  startDockerEngine,
  type TestEngine,
} from "../../../../support/docker/engine.ts";
import { buildDockerHost, createTestDriver } from "../../../../support/docker/fleet.ts";
import { pushImage } from "../../../../support/docker/images.ts";
import { freePort } from "../../../../support/free-port.ts";
import {
  type DockerRegistry,
  openDockerRegistry,
  registryUser,
} from "../../../../support/servers/docker-registry.ts";
import { waitFor } from "../../../../support/wait-for.ts";

describe.skipIf(!canRunEngines())("a container of a real engine", () => {
  let engine: TestEngine;
  let registry: DockerRegistry;
  const images = new Map<string, string>();
  const image = (tag: string) => images.get(tag) ?? tag;

  beforeAll(async () => {
    registry = await openDockerRegistry({ auth: "htpasswd" });
    for (const tag of [
      "v1",
      "v2",
      "v2-crash",
      "v2-late",
      "v2-sick",
      "v2-well",
      "v2-starting",
      "v2-missing",
    ]) {
      images.set(tag, await pushImage(registry, tag));
    }
    engine = await startDockerEngine();
  });

  afterAll(async () => {
    await engine?.stop();
    await registry?.stop();
  });

  afterEach(async () => {
    for (const { Id } of await engine.containers()) {
      await engine.call("DELETE", `/containers/${Id}?force=1&v=1`);
    }
  });

  const startDriver = (over: Partial<DockerDriverSettings> = {}): Driver =>
    createTestDriver({
      hosts: [buildDockerHost({ url: engine.url })],
      findCredential: () => registryUser,
      ...over,
    });

  /** As the user runs it: by a tag. */
  const run = (name: string, options: object = {}) =>
    engine.run(name, { image: image("v1"), auth: registryUser, ...options });

  let deploys = 0;
  const order = (tag: string, name = "gw"): DeployOrder => ({
    sentinelId: `one/${name}`,
    image: image(tag),
    deployId: `d${++deploys}`,
  });

  const untilSettled = (driver: Driver, wanted: DeployOrder) =>
    waitFor(
      async () => {
        const seen = await driver.observe(wanted);
        return seen.status !== "progressing" && seen;
      },
      { withinMs: 30_000, what: "the deploy to settle" },
    );

  const deploy = async (driver: Driver, wanted: DeployOrder) => {
    const { failure } = await driver.apply(wanted);
    return failure === undefined
      ? untilSettled(driver, wanted)
      : { status: "failed", reason: failure };
  };

  const names = async () => (await engine.containers()).flatMap(({ Names }) => Names).toSorted();

  it("is listed by the image that runs, with its digest", async () => {
    await run("gw", { labels: { tier: "canary" } });
    const driver = startDriver();

    expect(await driver.list()).toEqual([
      {
        id: "one/gw",
        region: "eu",
        image: image("v1"),
        running_image: image("v1"),
        healthy: true,
        labels: expect.objectContaining({ tier: "canary", host: "one" }),
      },
    ]);
  });

  it("is replaced by an image that is ordered by its digest alone, and not replaced again by its tag", async () => {
    await run("gw");
    const driver = startDriver();
    const byDigest = image("v2").replace(/:v2@/, "@");

    const seen = await deploy(driver, { ...order("v2"), image: byDigest });
    const [made] = await engine.containers();
    const again = await deploy(driver, order("v2"));

    expect([seen.status, again.status]).toEqual(["ready", "ready"]);
    expect(await driver.list()).toMatchObject([{ image: byDigest, running_image: byDigest }]);
    expect((await engine.containers()).map(({ Id }) => Id)).toEqual([made?.Id]);
  });

  it("gets an image that its registry has only some time after the order", async () => {
    await run("gw");
    const driver = startDriver();
    const wanted = {
      ...order("v2"),
      image: image("v2").replace("vedette/sentinel", "vedette/copied"),
    };

    await expect(driver.apply(wanted)).rejects.toThrow(/^image_not_found: /);
    await pushImage(registry, "v2", { repository: "vedette/copied" });
    const seen = await deploy(driver, wanted);

    expect(seen.status).toBe("ready");
  });

  it("fails once an image that was ordered by digest was missing for too long", async () => {
    await run("gw");
    const absent = image("v2").replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const driver = startDriver({ imageWaitMs: 0 });

    const { failure } = await driver.apply({ ...order("v2"), image: absent });

    expect(failure).toMatch(/^image_not_found: /);
  });

  it("keeps what it has of its own, and gets the rest from its new image", async () => {
    const port = await freePort();
    await run("gw", {
      Env: ["REGION=eu", `PORT=${port}`],
      Hostname: "gateway",
      StopSignal: "SIGTERM",
      host: {
        Memory: 64 * 1024 * 1024,
        RestartPolicy: { Name: "always" },
        Binds: ["/etc/hostname:/etc/name:ro"],
        CapDrop: ["ALL"],
        Mounts: [{ Type: "volume", Target: "/data" }],
      },
      labels: { tier: "canary", "com.docker.compose.service": "gw" },
      Volumes: { "/cache": {} },
    });
    const before = await engine.inspect("gw");
    const driver = startDriver();

    expect(await deploy(driver, order("v2-well"))).toMatchObject({ status: "ready" });

    const after = await engine.inspect("gw");
    expect(await names()).toEqual(["gw"]);
    expect(after.Config["Env"]).toEqual(
      expect.arrayContaining(["REGION=eu", `PORT=${port}`, "VERSION=v2-well"]),
    );
    expect(after.Config["Env"]).not.toContain("VERSION=v1");
    expect(after.Config["Labels"]).toMatchObject({
      tier: "canary",
      version: "v2-well",
      "com.docker.compose.service": "gw",
    });
    for (const key of ["Memory", "RestartPolicy", "Binds", "CapDrop", "NetworkMode"]) {
      expect(after.HostConfig[key]).toEqual(before.HostConfig[key]);
    }
    const volumes = ({ Mounts }: typeof after) =>
      Object.fromEntries(Mounts.map(({ Destination, Name }) => [Destination, Name]));
    expect(Object.keys(volumes(after)).toSorted()).toEqual(["/cache", "/data", "/etc/name"]);
    expect(volumes(after)).toEqual(volumes(before));
  });

  it("keeps its networks, with aliases and its fixed address", async () => {
    for (const [name, net] of [
      ["front", "10.213.0"],
      ["back", "10.214.0"],
    ] as const) {
      const IPAM = { Config: [{ Subnet: `${net}.0/24`, Gateway: `${net}.1` }] };
      const body = { Name: name, Driver: "bridge", CheckDuplicate: true, IPAM };
      const made = await engine.call("POST", "/networks/create", body);
      expect(made).toMatchObject({ status: 201 });
      onTestFinished(async () => {
        await engine.call("DELETE", `/networks/${name}`);
      });
    }
    const front = { IPAMConfig: { IPv4Address: "10.213.0.7" }, Aliases: ["gateway"] };
    await run("gw", {
      host: { NetworkMode: "front", PortBindings: { "80/tcp": [{ HostPort: "" }] } },
      NetworkingConfig: { EndpointsConfig: { front } },
      networks: { back: { Aliases: ["internal"] } },
    });
    const driver = startDriver();

    expect(await deploy(driver, order("v2-well"))).toMatchObject({ status: "ready" });

    const { Networks: networks } = (await engine.inspect("gw")).NetworkSettings;
    expect(networks).toMatchObject({
      front: { IPAddress: "10.213.0.7", Aliases: expect.arrayContaining(["gateway"]) },
      back: { Aliases: expect.arrayContaining(["internal"]) },
    });
  });

  it.each([
    ["v2-crash", /^crash_loop: exit code 1/],
    ["v2-late", /^crash_loop: exit code 7/],
    ["v2-sick", /^probe_failing: the health check exits with 3: no upstream/],
    ["v2-missing", /^start_error: /],
    ["nothing", /^image_not_found: /],
  ])("comes back as it was when %s does not get ready", async (tag, reason) => {
    images.set("nothing", `${registry.host}/vedette/sentinel:nothing`);
    await run("gw", { host: { RestartPolicy: { Name: "always" } } });
    const before = await engine.inspect("gw");
    const driver = startDriver({ stableMs: 2_000 });

    const seen = await deploy(driver, order(tag));

    expect(seen).toMatchObject({ status: "failed", reason: expect.stringMatching(reason) });
    const after = await engine.inspect("gw");
    expect(after).toMatchObject({ Id: before.Id, State: { Running: true } });
    expect(after.HostConfig["RestartPolicy"]).toEqual(before.HostConfig["RestartPolicy"]);
  });

  it("comes back when the new one is not healthy in time", async () => {
    await run("gw");
    const driver = startDriver({ readyTimeoutMs: 2_000 });

    expect(await deploy(driver, order("v2-starting"))).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^progress_deadline/),
      running_image: image("v1"),
    });
  });

  it("is told by any process why a deploy has failed", async () => {
    await run("gw");
    const wanted = order("v2-sick");
    await deploy(startDriver(), wanted);

    const seen = await startDriver().observe(wanted);

    expect(seen).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^probe_failing/),
    });
  });

  it("can go back to the image before, and forward again", async () => {
    await run("gw");
    const driver = startDriver();

    for (const tag of ["v2", "v1", "v2-sick", "v2"]) await deploy(driver, order(tag));

    expect((await driver.list())[0]).toMatchObject({ image: image("v2"), healthy: true });
    expect(await names()).toEqual(["gw", "gw.failed"]);
  });

  it("goes on when the process is killed in the middle, asked or not", async () => {
    await run("gw");
    const wanted = order("v2-well");
    const first = startDriver({ stableMs: 3_000 });
    await first.apply(wanted);
    await first.stop();

    await startDriver().list();

    await waitFor(
      async () => (await engine.inspect("gw")).Config["Image"] !== image("v1").replace(/@.*/, ""),
      {
        withinMs: 20_000,
        what: "the new container to be in its place",
      },
    );
    expect(await untilSettled(startDriver(), wanted)).toMatchObject({ status: "ready" });
  });

  it("is replaced once although two processes are at it", async () => {
    await run("gw");
    const wanted = order("v2");
    const drivers = [startDriver(), startDriver()];

    await Promise.allSettled(drivers.map((driver) => driver.apply(wanted)));
    const seen = await Promise.all(drivers.map((driver) => untilSettled(driver, wanted)));

    expect(seen).toMatchObject([{ status: "ready" }, { status: "ready" }]);
    expect(await names()).toEqual(["gw"]);
  });

  it("belongs to the newest order: one that is not at its end is given up", async () => {
    await run("gw");
    const driver = startDriver();
    await driver.apply(order("v2-starting"));

    const wanted = order("v2");
    await waitFor(() => driver.apply(wanted).then(() => true), {
      withinMs: 20_000,
      what: "the order to be taken",
    });

    expect(await untilSettled(driver, wanted)).toMatchObject({ status: "ready" });
  });

  it("is deployed although its engine is away in the middle", async () => {
    await run("gw");
    const driver = startDriver({ stableMs: 2_000 });
    const wanted = order("v2");
    await driver.apply(wanted);
    await engine.kill9();
    const away = driver.observe(wanted);
    await expect(away).rejects.toThrow(/unreachable: the engine of one/);

    await engine.restart();

    expect(await untilSettled(driver, wanted)).toMatchObject({ status: "ready" });
  });

  it("that somebody removes meanwhile leaves the old one in its place", async () => {
    await run("gw", { labels: { "vedette.replace": "stop-first" } });
    const driver = startDriver({ stableMs: 60_000 });
    const wanted = order("v2");
    const old = await engine.inspect("gw");
    await driver.apply(wanted);
    const isRunning = async () => (await engine.inspect("gw")).State["Running"] === true;
    await waitFor(async () => (await names()).join() === "gw,gw.prev" && isRunning(), {
      withinMs: 20_000,
      what: "the new one to run in the place of the old one",
    });

    await engine.call("DELETE", "/containers/gw?force=1");

    const isBack = async () => (await engine.inspect("gw"))["Id"] === old["Id"] && isRunning();
    await waitFor(() => driver.observe(wanted).then(isBack), {
      withinMs: 20_000,
      what: "the old one to be back",
    });
    expect(await driver.observe(wanted)).toMatchObject({ status: "progressing", isOrdered: false });
  });

  it.each([
    ["is removed when it stops", { host: { AutoRemove: true } }, /^config_invalid: .*--rm/],
  ])("is refused when it %s", async (_, options, reason) => {
    await run("gw", options);
    const driver = startDriver();

    const { failure } = await driver.apply(order("v2"));

    expect(failure).toMatch(reason);
    expect(await names()).toEqual(["gw"]);
  });

  it.each(["gw.next", "gw.prev"])(
    "leaves a container alone that is named %s by chance",
    async (other) => {
      await run("gw");
      await run(other, { labels: { tier: "another" } });
      const driver = startDriver();

      const seen = await deploy(driver, order("v2"));

      expect(seen).toMatchObject({
        status: "failed",
        reason: expect.stringMatching(/^conflict: /),
      });
      for (const id of ["one/gw", `one/${other}`]) {
        const listed = (await driver.list()).find((sentinel) => sentinel.id === id);
        expect(listed).toMatchObject({ image: image("v1"), healthy: true });
      }
    },
  );

  it("cannot be pulled without the registry's credentials", async () => {
    await run("gw");
    const driver = startDriver({ findCredential: () => undefined });

    const { failure } = await driver.apply({
      ...order("v2"),
      image: `${registry.host}/vedette/private:v1`,
    });

    expect(failure).toMatch(/^image_auth: /);
  });
});
