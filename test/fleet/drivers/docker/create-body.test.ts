import { describe, expect, it } from "vitest";
import { createBody, findObstacle } from "#fleet/drivers/docker/create-body.ts";
import { ImageInfo } from "#fleet/drivers/docker/schemas.ts";
import { buildContainer } from "../../../support/docker/container-builders.ts";

const check = { Test: ["CMD", "true"] };

const base = ImageInfo.parse({
  Id: "sha256:old",
  Config: {
    Env: ["PATH=/bin", "VERSION=v1"],
    Labels: { version: "v1" },
    Cmd: ["serve"],
    Entrypoint: ["/entry"],
    User: "app",
    WorkingDir: "/srv",
    Healthcheck: check,
    ExposedPorts: { "80/tcp": {} },
    Volumes: { "/cache": {} },
  },
});

const wanted = {
  image: "r.io/a@sha256:new",
  labels: { "vedette.deploy": "d1" },
  everyNetwork: true,
};

type Over = NonNullable<Parameters<typeof buildContainer>[1]>;

/** As an engine reports it: with what the image has. */
const build = ({ config, labels, ...over }: Over = {}) =>
  buildContainer("gw", {
    ...over,
    labels: { version: "v1", "vedette.sentinel": "", ...labels },
    config: { ...base.Config, Image: "r.io/a:v1", ...config, Labels: undefined },
  });

const create = (over: Over = {}, more: Partial<typeof wanted> = {}) =>
  createBody(buildLabelled(over), base, { ...wanted, ...more });

/** `buildContainer` puts `config` over the labels. */
function buildLabelled(over: Over) {
  const one = build(over);
  one.Config.Labels = { version: "v1", "vedette.sentinel": "", ...over.labels };
  return one;
}

describe("createBody", () => {
  it("leaves to the new image what the old one said", () => {
    const body = create();

    for (const key of ["Cmd", "Entrypoint", "User", "WorkingDir", "Healthcheck"]) {
      expect(body).not.toHaveProperty(key);
    }
    expect(body).toMatchObject({ Env: [], ExposedPorts: {}, Volumes: {} });
    expect(body.Labels).toEqual({ "vedette.sentinel": "", "vedette.deploy": "d1" });
  });

  it("keeps what the container has of its own", () => {
    const own = { User: "root", StopSignal: "SIGQUIT", Healthcheck: { Test: ["NONE"] } };

    const body = create({
      config: { ...own, Env: ["PATH=/bin", "VERSION=v1", "REGION=eu"], Hostname: "gw-1" },
      labels: { tier: "canary" },
      host: { Memory: 1_000, RestartPolicy: { Name: "always", MaximumRetryCount: 0 } },
    });

    expect(body).toMatchObject({ ...own, Env: ["REGION=eu"], Hostname: "gw-1" });
    expect(body.Labels).toMatchObject({ tier: "canary" });
    expect(body.HostConfig).toMatchObject({ Memory: 1_000, RestartPolicy: { Name: "always" } });
  });

  it("keeps a command that an entrypoint of its own goes with", () => {
    expect(create({ config: { Entrypoint: ["/other"] } })).toMatchObject({
      Entrypoint: ["/other"],
      Cmd: ["serve"],
    });
    expect(create({ config: { Cmd: ["serve", "-v"] } })).toMatchObject({ Cmd: ["serve", "-v"] });
  });

  it("drops the name that the engine gave the host, and the labels of the deploy before", () => {
    const body = create({
      id: "0123456789abcdef",
      config: { Hostname: "0123456789ab" },
      labels: { "vedette.deploy": "d0", "vedette.image": "r.io/a:v1", "vedette.region": "eu" },
    });

    expect(body).not.toHaveProperty("Hostname");
    expect(body.Labels).toEqual({
      "vedette.sentinel": "",
      "vedette.region": "eu",
      "vedette.deploy": "d1",
    });
  });

  it("takes the volumes along that have no name, and names no mount twice", () => {
    const mount = { Type: "volume", Source: "data", Target: "/data" };
    const body = create({
      host: { Mounts: [mount], Binds: ["/etc/gw:/etc/gw:ro"] },
      mounts: [
        { Type: "volume", Name: "data", Destination: "/data" },
        { Type: "volume", Name: "4f1e", Destination: "/cache" },
        { Type: "bind", Destination: "/etc/gw" },
      ],
    });

    expect(body.HostConfig["Mounts"]).toEqual([
      mount,
      { Type: "volume", Source: "4f1e", Target: "/cache" },
    ]);
  });

  it.each(["/data", "/data/"])("keeps the data of a volume without a name at %s", (Target) => {
    const body = create({
      host: { Mounts: [{ Type: "volume", Target, ReadOnly: true }, null] },
      mounts: [{ Type: "volume", Name: "4f1e", Destination: "/data" }],
    });

    expect(body.HostConfig["Mounts"]).toEqual([
      { Type: "volume", Source: "4f1e", Target, ReadOnly: true },
    ]);
  });

  it("names no volume twice whose place ends with a slash", () => {
    const body = create({
      host: { Binds: ["data:/data/"] },
      mounts: [{ Type: "volume", Name: "data", Destination: "/data" }],
    });

    expect(body.HostConfig["Mounts"]).toEqual([]);
  });

  it.each([[null], [[]]])(
    "takes the entrypoint away that the container has not: %j",
    (Entrypoint) => {
      const body = create({ config: { Entrypoint, Cmd: ["other"] } });

      expect(body).toMatchObject({ Entrypoint: [""], Cmd: ["other"] });
    },
  );

  const networks = {
    front: {
      Aliases: ["gw", "0123456789ab"],
      IPAMConfig: { IPv4Address: "10.0.0.2" },
      IPAddress: "10.0.0.2",
      MacAddress: "02:42",
    },
    back: { Aliases: ["gw"] },
  };

  it("keeps networks with aliases and fixed addresses, not those that the engine has given", () => {
    const body = create({ id: "0123456789abcdef", networks });

    expect(body.NetworkingConfig.EndpointsConfig).toEqual({
      front: {
        Aliases: ["gw"],
        IPAMConfig: { IPv4Address: "10.0.0.2" },
        DriverOpts: null,
        Links: null,
      },
      back: { Aliases: ["gw"], IPAMConfig: null, DriverOpts: null, Links: null },
    });
  });

  it("names one network where the engine takes no more, the one of its mode", () => {
    const over = { networks, host: { NetworkMode: "back" } };

    const { EndpointsConfig } = create(over, { everyNetwork: false }).NetworkingConfig;

    expect(Object.keys(EndpointsConfig)).toEqual(["back"]);
  });

  it("names none with the host's own network", () => {
    const body = create({ networks: { host: {} }, host: { NetworkMode: "host" } });

    expect(body.NetworkingConfig.EndpointsConfig).toEqual({});
  });
});

describe("findObstacle", () => {
  it.each([
    ["--rm", { AutoRemove: true }],
    ["NetworkMode", { NetworkMode: "container:4f1e" }],
    ["PidMode", { PidMode: "container:4f1e" }],
    ["VolumesFrom", { VolumesFrom: ["other"] }],
    ["Links", { Links: ["/db:/gw/db"] }],
  ])("names %s", (word, host) => {
    const obstacle = findObstacle(buildContainer("gw", { host }));

    expect(obstacle).toMatch(/^config_invalid: /);
    expect(obstacle).toContain(word);
  });

  it("names a task of a swarm, which is made again by itself", () => {
    const labels = { "com.docker.swarm.task.id": "t1" };

    expect(findObstacle(buildContainer("gw", { labels }))).toMatch(/^config_invalid: .*swarm/);
  });

  it("finds none in a usual container", () => {
    const host = { VolumesFrom: null, Links: [], PidMode: "", AutoRemove: false };

    expect(findObstacle(buildContainer("gw", { host }))).toBeUndefined();
  });
});
