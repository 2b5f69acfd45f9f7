import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTunnel, sshArguments } from "#fleet/drivers/docker/connection.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const argumentsOf = (url: string) => {
  const all = sshArguments(url, "/tmp/a/docker.sock");
  const end = all.indexOf("--");
  return {
    forward: all[all.indexOf("-L") + 1],
    port: all[all.indexOf("-p") + 1],
    rest: all.slice(end),
  };
};

describe("sshArguments", () => {
  it("forwards the usual socket of a host", () => {
    expect(argumentsOf("ssh://edge-1")).toMatchObject({
      forward: "/tmp/a/docker.sock:/var/run/docker.sock",
      rest: ["--", "edge-1"],
    });
  });

  it("takes user, port and socket from the address", () => {
    expect(argumentsOf("ssh://deploy@[2001:db8::1]:2222/run/user/1000/docker.sock")).toEqual({
      forward: "/tmp/a/docker.sock:/run/user/1000/docker.sock",
      port: "2222",
      rest: ["--", "deploy@2001:db8::1"],
    });
  });

  it("never asks, and never takes a host for an option", () => {
    const all = sshArguments("ssh://-oProxyCommand=x@edge-1", "/s");

    expect(all).toContain("BatchMode=yes");
    expect(all.slice(all.indexOf("--"))).toEqual(["--", "-oProxyCommand=x@edge-1"]);
  });
});

it("ssh gets what names its agent, and none of our settings and secrets", async () => {
  const folder = tempDir();
  writeFileSync(path.join(folder, "ssh"), `#!/bin/sh\nenv > ${folder}/got\nexit 1\n`);
  chmodSync(path.join(folder, "ssh"), 0o755);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  vi.stubEnv("SSH_AUTH_SOCK", "/tmp/agent");
  for (const name of ["VEDETTE_SECRET_A", "INGRESS_TOKEN", "DATABASE_URL", "REGISTRY_AUTH_A"]) {
    vi.stubEnv(name, "a-secret");
  }
  const tunnel = createTunnel("ssh://127.0.0.1");
  onTestFinished(() => tunnel.stop());

  await expect(tunnel.ready(AbortSignal.timeout(60_000))).rejects.toThrow("has ended");

  const got = readFileSync(path.join(folder, "got"), "utf8");
  expect(got).toContain("SSH_AUTH_SOCK=/tmp/agent");
  expect(got).not.toContain("a-secret");
});
