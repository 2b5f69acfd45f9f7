/** What docker-compose.yml and the image promise, as far as it can be read without an engine. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readConfig } from "#config.ts";

const compose = readFileSync("docker-compose.yml", "utf8");
const dockerfile = readFileSync("Dockerfile", "utf8");

/** The lines of one service. */
function serviceText(name: string): string {
  const services = compose.split(/^(?= {2}[a-z]+:$)/m);
  return services.find((text) => text.startsWith(`  ${name}:\n`)) ?? "";
}

/** Its variables, with presets where the operator sets none and `set` where one is asked for. */
function environmentOf(service: string): Record<string, string> {
  const lines = serviceText(service).matchAll(/^ {6}([A-Z][A-Z0-9_]+): (.*)$/gm);
  return Object.fromEntries(
    [...lines].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\$\{\w+:-([^}]*)\}/g, "$1").replace(/\$\{\w+:\?[^}]*\}/g, "set"),
    ]),
  );
}

it("sets nothing that is no setting of Vedette's", () => {
  const environment = environmentOf("vedette");

  const config = readConfig({ environment });

  expect(config).toMatchObject({
    database: { url: "postgres://vedette:set@postgres:5432/vedette" },
    control: { host: "0.0.0.0", ingress_token: "set" },
    worker: { host: "0.0.0.0", advertised_url: "http://vedette:9480" },
    restate: { ingress_url: "http://restate:8080", identity_key_file: "/identity/public.key" },
  });
});

it("publishes ports on this machine only", () => {
  const published = [...compose.matchAll(/^ {6}- ([\d.:]+)$/gm)].map((match) => match[1] ?? "");

  expect(published.length).toBeGreaterThan(0);
  expect(published.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
});

it("holds no secret: each comes from outside, and has to", () => {
  const secrets = ["vedette", "postgres"].flatMap((service) =>
    Object.entries(environmentOf(service)).filter(([name]) => /TOKEN|PASSWORD/.test(name)),
  );

  const held = secrets.filter(([, value]) => value !== "set" && value !== "");

  expect(secrets.length).toBeGreaterThan(0);
  expect(held).toEqual([]);
});

it("lets the worker and Restate share one key pair", () => {
  const mounts = ["identity", "restate", "vedette"].map((service) =>
    / {6}- identity:\/identity(?::ro)?$/m.test(serviceText(service)),
  );

  expect(mounts).toEqual([true, true, true]);
});

it("builds from nothing that .dockerignore keeps out", () => {
  const admitted = readFileSync(".dockerignore", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1));
  const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap((match) =>
    (match[1] ?? "").split(" "),
  );

  expect(admitted.toSorted()).toEqual(copied.toSorted());
  expect(copied.filter((name) => globSync(name).length === 0)).toEqual([]);
});

it("runs as an ordinary user", () => {
  const users = [...dockerfile.matchAll(/^USER (.+)$/gm)].map((match) => match[1]);

  expect(users.at(-1)).toBe("node");
});
