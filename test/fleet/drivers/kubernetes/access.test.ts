import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { findAccess } from "#fleet/drivers/kubernetes/access.ts";
import { tempDir } from "../../../support/temp-dir.ts";

function writeKubeconfig(file: string, server: string): string {
  const text = [
    "current-context: edge",
    `clusters: [{ name: edge, cluster: { server: '${server}' } }]`,
    "contexts: [{ name: edge, context: { cluster: edge, user: edge } }]",
    "users: [{ name: edge, user: { tokenFile: token } }]",
  ];
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text.join("\n"));
  return file;
}

/** As it is mounted: what is replaced are links. */
function mountServiceAccount({ namespace = "gateways\n" } = {}): string {
  const dir = tempDir();
  mkdirSync(path.join(dir, "..data"));
  for (const [name, text] of Object.entries({ token: "abc", namespace })) {
    writeFileSync(path.join(dir, "..data", name), text);
    symlinkSync(path.join("..data", name), path.join(dir, name));
  }
  return dir;
}

const pod = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "6443" };

describe("findAccess in a pod", () => {
  it("takes the mounted service account", () => {
    const dir = mountServiceAccount();

    expect(findAccess("", pod, dir)).toEqual({
      server: "https://10.96.0.1:6443",
      namespace: "gateways",
      ca: { file: path.join(dir, "ca.crt") },
      servername: undefined,
      isInsecure: false,
      proxyUrl: undefined,
      cert: undefined,
      key: undefined,
      login: { kind: "token-file", file: path.join(dir, "token") },
    });
  });

  it.each([
    ["fd00::1", "6443", "https://[fd00::1]:6443"],
    ["[fd00::1]", "6443", "https://[fd00::1]:6443"],
    ["10.96.0.1", "", "https://10.96.0.1:443"],
    ["kubernetes.default.svc", "443", "https://kubernetes.default.svc:443"],
  ])("joins %s and port '%s' to %s", (host, port, server) => {
    const environment = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port };

    expect(findAccess("", environment, mountServiceAccount()).server).toBe(server);
  });

  it("leaves out a namespace that is empty", () => {
    const dir = mountServiceAccount({ namespace: "\n" });

    expect(findAccess("", pod, dir).namespace).toBeUndefined();
  });

  it("says what to set when no token is mounted", () => {
    expect(() => findAccess("", pod, tempDir())).toThrow(
      /this pod has no .*\/token; set automountServiceAccountToken in its spec, or KUBECONFIG$/,
    );
  });

  it("takes a kubeconfig if one is set", () => {
    const file = writeKubeconfig(path.join(tempDir(), "config"), "https://set");

    const access = findAccess("", { ...pod, KUBECONFIG: file }, mountServiceAccount());

    expect(access.server).toBe("https://set");
  });

  it("takes that of its home if a context is set", () => {
    const home = tempDir();
    writeKubeconfig(path.join(home, ".kube/config"), "https://home");

    const access = findAccess("edge", { ...pod, HOME: home }, mountServiceAccount());

    expect(access.server).toBe("https://home");
  });
});

describe("findAccess by kubeconfig", () => {
  it.each(["", ":", undefined])("with KUBECONFIG '%s' takes that of the home", (KUBECONFIG) => {
    const home = tempDir();
    writeKubeconfig(path.join(home, ".kube/config"), "https://home");

    const access = findAccess("", { HOME: home, KUBECONFIG });

    expect(access).toMatchObject({
      server: "https://home",
      login: { kind: "token-file", file: path.join(home, ".kube/token") },
    });
  });

  it("goes through a list, leaves out what is not there, and takes the first", () => {
    const dir = tempDir();
    const one = writeKubeconfig(path.join(dir, "one"), "https://one");
    const two = writeKubeconfig(path.join(dir, "two"), "https://two");
    const KUBECONFIG = ["", path.join(dir, "gone"), path.join(one, "below"), one, two].join(":");

    expect(findAccess("", { KUBECONFIG }).server).toBe("https://one");
  });

  it("finds a file by its path from the working directory", () => {
    const file = writeKubeconfig(path.join(tempDir(), "config"), "https://near");

    const access = findAccess("", { KUBECONFIG: path.relative(process.cwd(), file) });

    expect(access.login).toEqual({
      kind: "token-file",
      file: path.join(path.dirname(file), "token"),
    });
  });

  it("says what to set when there is none", () => {
    const home = tempDir();

    expect(() => findAccess("", { HOME: home })).toThrow(
      `fleet.driver "kubernetes" finds no cluster: there is no ${home}/.kube/config, and this is no pod; set KUBECONFIG`,
    );
    expect(() => findAccess("edge", { ...pod, HOME: home })).toThrow(
      "and fleet.kubernetes.context is set; set KUBECONFIG",
    );
  });

  it("refuses by name what is no regular file, or too large", () => {
    const dir = tempDir();
    const large = path.join(dir, "large");
    writeFileSync(large, "#".repeat(1_048_577));
    const whole = writeKubeconfig(path.join(dir, "whole"), "https://whole");

    expect(() => findAccess("", { KUBECONFIG: `${whole}:${dir}` })).toThrow(
      `${dir} is no regular file`,
    );
    expect(() => findAccess("", { KUBECONFIG: "/dev/zero" })).toThrow(
      "/dev/zero is no regular file",
    );
    expect(() => findAccess("", { KUBECONFIG: large })).toThrow(`${large} is larger than 1 MiB`);
  });
});
