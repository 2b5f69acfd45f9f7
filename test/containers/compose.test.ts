/** What docker-compose.yml and the image promise, as far as it can be read without an engine. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { findUnsignedWorker } from "#app/refusals.ts";
import { readConfig } from "#config.ts";
import { generateIdentityKey, publicIdentityOf } from "#kernel/crypto.ts";
import { admitted } from "../support/servers/dockerfile.ts";
import { tempDir } from "../support/temp-dir.ts";

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

it("publishes no port of Restate itself, which asks nobody who they are", () => {
  const published = (service: string) => /^ {4}ports:$/m.test(serviceText(service));

  expect(published("vedette")).toBe(true);
  expect(published("restate")).toBe(false);
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

it("is not refused for a worker that anyone may call", () => {
  const config = readConfig({ environment: environmentOf("vedette") });
  const file = path.join(tempDir(), "public.key");
  writeFileSync(file, publicIdentityOf(generateIdentityKey()));

  const faults = findUnsignedWorker({
    ...config,
    restate: { ...config.restate, identity_key_file: file },
  });

  expect(config.restate.identity_key_file).not.toBe("");
  expect(faults).toEqual([]);
});

it("builds from what .dockerignore lets in, and lets nothing else in", () => {
  const copies = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)];
  const copied = new Set(copies.flatMap((match) => (match[1] ?? "").split(" ")));

  expect(admitted().toSorted()).toEqual([...copied].toSorted());
  expect([...copied].filter((name) => globSync(name).length === 0)).toEqual([]);
});

it("checks its health by a file that it holds", () => {
  const check = /^HEALTHCHECK .*\\\n {2}CMD \["node", "\/app\/(.+)"\]$/m.exec(dockerfile);

  expect(globSync(check?.[1] ?? "none")).toHaveLength(1);
});

it("runs as an ordinary user, by its number", () => {
  const users = [...dockerfile.matchAll(/^USER (.+)$/gm)].map((match) => match[1]);

  expect(users.at(-1)).toBe("1000:1000");
});
