/** Debian's docker-registry, the real one, where it is installed. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import type { TokenIssuer } from "./token-issuer.ts";

export type RegistryMode =
  | { auth: "open" }
  | { auth: "htpasswd" }
  | { auth: "token"; issuer: TokenIssuer };

/** The only user of a registry with a password; the password has what is easily split wrongly. */
export const registryUser = { user: "deployer", password: "p:ss word" };

const registryUserLine = "deployer:$2b$04$CQZkOSwtgiG8Q4KH5oBjNuaSoNURCy3Wn80fuJL0KFnNgyB67Lh72";

export type DockerRegistry = {
  /** host:port, as it stands in an image's name. */
  host: string;
  /** Pushes an image that holds `content`; answers its digest. Replaces what the tag was. */
  push: (image: { repository: string; tag: string; content: string }) => Promise<string>;
  stop: () => Promise<void>;
};

/** For the test that asks for it; stopped when that test ends. */
export async function startDockerRegistry(mode: RegistryMode): Promise<DockerRegistry> {
  const dir = makeTempDir();
  const host = `127.0.0.1:${await freePort()}`;
  const file = path.join(dir.path, "config.json");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configOf(mode, host, dir.path)));
  const child = spawn("docker-registry", ["serve", file], { stdio: "ignore" });
  const hasEnded = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await hasEnded;
    dir.remove();
  };
  onTestFinished(stop);
  await waitFor(async () => (await fetch(`http://${host}/v2/`)).status !== 0, {
    withinMs: 10_000,
    what: "the registry to answer",
  });
  const push: DockerRegistry["push"] = (image) =>
    pushImage(`http://${host}/v2/${image.repository}`, image, authorizationOf(mode, image));
  return { host, push, stop };
}

function configOf(mode: RegistryMode, host: string, dir: string) {
  const base = {
    version: 0.1,
    log: { level: "error" },
    storage: { filesystem: { rootdirectory: path.join(dir, "data") } },
    http: { addr: host },
  };
  if (mode.auth === "open") return base;
  if (mode.auth === "htpasswd") {
    const file = path.join(dir, "htpasswd");
    writeFileSync(file, `${registryUserLine}\n`);
    return { ...base, auth: { htpasswd: { realm: "test", path: file } } };
  }
  const { realm, service, issuer, certificateFile } = mode.issuer;
  return { ...base, auth: { token: { realm, service, issuer, rootcertbundle: certificateFile } } };
}

function authorizationOf(mode: RegistryMode, image: { repository: string }): string {
  if (mode.auth === "token")
    return `Bearer ${mode.issuer.sign(image.repository, ["pull", "push"])}`;
  const { user, password } = registryUser;
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";

async function pushImage(
  base: string,
  image: { tag: string; content: string },
  authorization: string,
): Promise<string> {
  const config = await pushBlob(base, Buffer.from("{}"), authorization);
  const layer = await pushBlob(base, Buffer.from(image.content), authorization);
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
      layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...layer }],
    }),
  );
  await send(`${base}/manifests/${image.tag}`, {
    method: "PUT",
    headers: { authorization, "content-type": manifestType },
    body: manifest,
  });
  return digestOf(manifest);
}

async function pushBlob(base: string, bytes: Buffer, authorization: string) {
  const digest = digestOf(bytes);
  const headers = { authorization };
  const upload = await send(`${base}/blobs/uploads/`, { method: "POST", headers });
  const address = new URL(upload.headers.get("location") ?? "", base);
  address.searchParams.set("digest", digest);
  await send(address, { method: "PUT", headers, body: bytes });
  return { digest, size: bytes.length };
}

async function send(address: string | URL, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, { ...init, signal: AbortSignal.timeout(10_000) });
  if (answer.ok) return answer;
  throw new Error(`${init.method} ${address} answered ${answer.status}: ${await answer.text()}`);
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
