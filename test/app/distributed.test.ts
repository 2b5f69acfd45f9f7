import { describe, expect, it } from "vitest";
import { type Role, roles } from "#app/base.ts";
import { findUnshared } from "#app/refusals.ts";
import { readConfig } from "#config.ts";

const shared = {
  VEDETTE_DEPLOYMENT: "distributed",
  DATABASE_URL: "postgres://db.example.com/vedette",
  VEDETTE_RESTATE__INGRESS_URL: "http://restate:8080",
  VEDETTE_RESTATE__ADMIN_URL: "http://restate:9070",
  CLICKHOUSE_URL: "http://clickhouse:8123",
  REDIS_URL: "redis://redis:6379",
  VEDETTE_FLEET__DRIVER: "docker",
  VEDETTE_WORKER__ADVERTISED_URL: "http://worker:9480",
  VEDETTE_MONITOR__BASE_URL: "https://api.example.com",
  INGRESS_TOKEN: "one for all of them",
  VEDETTE_ROOT_KEY: "one for all of them",
  VEDETTE_API__ENCRYPTION_KEYS: `2026:${Buffer.alloc(32, 7).toString("base64")}`,
};

/** The settings that the lines begin with. */
function missing(environment: Record<string, string>, as: readonly Role[] = roles): string[] {
  const lines = findUnshared(readConfig({ environment }), as);
  return lines.map((line) => line.slice(0, line.indexOf(":")));
}

describe("a distributed deployment", () => {
  it("starts with everything that its processes share", () => {
    expect(missing(shared)).toEqual([]);
  });

  it("names every setting that a process would have to itself, each in a line", () => {
    expect(missing({ VEDETTE_DEPLOYMENT: "distributed" })).toEqual([
      "database.url",
      "restate.ingress_url",
      "clickhouse.url",
      "redis.url",
      "fleet.driver",
      "worker.advertised_url",
      "monitor.base_url",
      "control.ingress_token",
      "api.root_key",
      "api.encryption_keys",
    ]);
  });

  const stores = { DATABASE_URL: "database.url", CLICKHOUSE_URL: "clickhouse.url" };
  const durable = {
    ...stores,
    VEDETTE_RESTATE__INGRESS_URL: "restate.ingress_url",
    VEDETTE_MONITOR__BASE_URL: "monitor.base_url",
  };
  it.each<[Role, Record<string, string>]>([
    [
      "api",
      {
        ...stores,
        REDIS_URL: "redis.url",
        VEDETTE_ROOT_KEY: "api.root_key",
        VEDETTE_API__ENCRYPTION_KEYS: "api.encryption_keys",
      },
    ],
    ["control", { ...durable, INGRESS_TOKEN: "control.ingress_token" }],
    [
      "worker",
      {
        ...durable,
        VEDETTE_FLEET__DRIVER: "fleet.driver",
        VEDETTE_WORKER__ADVERTISED_URL: "worker.advertised_url",
      },
    ],
  ])("asks a process with the role %s only for what the role uses", (role, settings) => {
    const names = Object.keys(settings);
    const { VEDETTE_DEPLOYMENT } = shared;
    const admin = role === "api" ? [] : ["VEDETTE_RESTATE__ADMIN_URL"];
    const used = [...names, ...admin] as (keyof typeof shared)[];
    const own = Object.fromEntries(used.map((name) => [name, shared[name]]));

    expect(missing({ VEDETTE_DEPLOYMENT, ...own }, [role])).toEqual([]);
    for (const [name, setting] of Object.entries(settings)) {
      const { [name]: _left, ...rest } = own;
      if (name.includes("RESTATE")) delete rest["VEDETTE_RESTATE__ADMIN_URL"];
      expect(missing({ VEDETTE_DEPLOYMENT, ...rest }, [role])).toEqual([setting]);
    }
  });

  it("takes a switched off analytics in place of its store", () => {
    const { CLICKHOUSE_URL: _, ...rest } = shared;

    expect(missing({ ...rest, VEDETTE_ANALYTICS__ENABLED: "false" })).toEqual([]);
  });

  it("asks a worker for the secrets of what it does besides", () => {
    const {
      INGRESS_TOKEN: _token,
      VEDETTE_API__ENCRYPTION_KEYS: _keys,
      VEDETTE_ROOT_KEY: _root,
      ...rest
    } = shared;

    expect(missing({ ...rest, VEDETTE_RESTATE__FRONT_HOST: "0.0.0.0" }, ["worker"])).toEqual([
      "control.ingress_token",
    ]);
    expect(missing({ ...rest, VEDETTE_ACME__NAMES: "api.example.com" }, ["worker"])).toEqual([
      "api.encryption_keys",
    ]);
  });
});

it("a single process may have everything to itself", () => {
  expect(missing({})).toEqual([]);
});
