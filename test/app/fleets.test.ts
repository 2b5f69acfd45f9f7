import { describe, expect, it } from "vitest";
import { fleetsOf, hasProcessFleet, settingOf } from "#app/fleets.ts";
import { findUselessCi } from "#app/image-gate.ts";
import { readConfig } from "#config.ts";

const staging = { VEDETTE_FLEETS__STAGING__DRIVER: "docker" };
const read = (environment: Record<string, string>) => readConfig({ environment });

describe("the fleets of the settings", () => {
  it("are the default one alone, unless there are more", () => {
    expect(fleetsOf(read({})).map(({ name }) => name)).toEqual(["singleton"]);
    expect(fleetsOf(read(staging)).map(({ name }) => name)).toEqual(["singleton", "staging"]);
  });

  it("have what holds for all, but for what they say themselves", () => {
    const [first, second] = fleetsOf(
      read({
        ...staging,
        VEDETTE_ROLLOUT__MAX_PARALLEL: "7",
        VEDETTE_ROLLOUT__SOAK_SECONDS: "60",
        VEDETTE_ROLLOUT__MAX_FAILED__PER_WAVE: "1",
        VEDETTE_FLEETS__STAGING__ROLLOUT__MAX_FAILED__IN_ALL: "9",
        VEDETTE_REGISTRY__ALLOWED: "registry.example.com",
        VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL: "https://chat.example.com/all",
        VEDETTE_FLEETS__STAGING__ROLLOUT__SOAK_SECONDS: "5",
        VEDETTE_FLEETS__STAGING__REGISTRY__INSECURE: "staging:5000",
        VEDETTE_FLEETS__STAGING__OPERATORS: "ada,ci",
      }),
    );

    expect(first?.rollout).toMatchObject({ max_parallel: 7, soak_seconds: 60 });
    expect(second?.rollout).toMatchObject({
      max_parallel: 7,
      soak_seconds: 5,
      max_failed: { per_wave: 1, in_all: 9 },
    });
    expect(second?.registry).toMatchObject({
      allowed: ["registry.example.com"],
      insecure: ["staging:5000"],
    });
    expect(first?.operators).toBeUndefined();
    expect(second?.operators).toEqual(["ada", "ci"]);
    expect(second?.webhookUrl).toBe("https://chat.example.com/all");
  });

  it.each([
    ["its own Prometheus", { PROMETHEUS_URL: "https://other.example.com" }, ""],
    ["the Prometheus of all", {}, "secret"],
    ["a token of its own", { PROMETHEUS_URL: "https://b.example.com", PROMETHEUS_TOKEN: "b" }, "b"],
  ])("send no token of all to another server, with %s", (_, own, token) => {
    const prefixed = Object.entries(own).map(([name, value]) => [
      `VEDETTE_FLEETS__STAGING__ROLLOUT__${name}`,
      value,
    ]);
    const all = {
      VEDETTE_ROLLOUT__PROMETHEUS_URL: "https://a.example.com",
      VEDETTE_ROLLOUT__PROMETHEUS_TOKEN: "secret",
    };

    const [, second] = fleetsOf(read({ ...staging, ...all, ...Object.fromEntries(prefixed) }));

    expect(second?.rollout.prometheus_token).toBe(token);
    expect(second?.rollout.prometheus_url).toMatch(/^https/);
  });

  it("have a chat channel of their own, if they name one", () => {
    const url = "https://chat.example.com/staging";
    const name = "VEDETTE_FLEETS__STAGING__SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL";

    expect(fleetsOf(read({ ...staging, [name]: url }))[1]?.webhookUrl).toBe(url);
  });

  it("are processes of this machine if one of them is", () => {
    const docker = { VEDETTE_FLEET__DRIVER: "docker" };
    const other = { ...docker, VEDETTE_FLEETS__TRIAL__DRIVER: "process" };

    expect(hasProcessFleet(read(docker))).toBe(false);
    expect(hasProcessFleet(read(other))).toBe(true);
  });

  it("are each asked whether the evidence of CI that they want can be had", () => {
    const lines = findUselessCi(
      read({ ...staging, VEDETTE_FLEETS__STAGING__ROLLOUT__REQUIRE_CI: "label" }),
    );

    expect(lines).toEqual([expect.stringContaining("fleets.staging.rollout.require_ci: label")]);
  });

  it.each([
    ["VEDETTE_FLEETS__SINGLETON__DRIVER", "docker", "is the default fleet"],
    ["VEDETTE_FLEETS__STAGING__DRIVER", "http", 'driver "http" needs http.url'],
    ["VEDETTE_FLEETS__STAGING__ROLLOUT__MAX_PARALLEL", "0", "max_parallel"],
    ["VEDETTE_FLEETS__STAGING__OPERATORS", "ada", "fleets.staging.driver"],
  ])("are refused with %s = %s", (name, value, fault) => {
    expect(() => read({ [name]: value })).toThrow(fault);
  });

  it("are refused with a name that is none", () => {
    expect(() => read({ VEDETTE_FLEETS__2ND__DRIVER: "docker" })).toThrow("2nd");
  });
});

it("a setting of a fleet is called by its place in the file", () => {
  expect(settingOf("singleton", "rollout.require_ci")).toBe("rollout.require_ci");
  expect(settingOf("staging", "rollout.require_ci")).toBe("fleets.staging.rollout.require_ci");
});
