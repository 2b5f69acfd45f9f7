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
  push: (image: PushedImage) => Promise<string>;
  /** Pushes a manifest with these blobs; answers its digest. `reference`: a tag; absent: its digest alone. */
  put: (manifest: PushedManifest) => Promise<string>;
  stop: () => Promise<void>;
};

type PushedImage = {
  repository: string;
  tag: string;
  content: string;
  labels?: Record<string, string>;
};

type PushedManifest = {
  repository: string;
  reference?: string;
  mediaType?: string;
  manifest: object;
  blobs?: Buffer[];
};

/** For the test that asks for it; stopped when that test ends. */
export async function startDockerRegistry(mode: RegistryMode): Promise<DockerRegistry> {
  const registry = await openDockerRegistry(mode);
  onTestFinished(registry.stop);
  return registry;
}

/** Until it is stopped. */
export async function openDockerRegistry(mode: RegistryMode): Promise<DockerRegistry> {
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
  await waitFor(async () => (await fetch(`http://${host}/v2/`)).status !== 0, {
    withinMs: 10_000,
    what: "the registry to answer",
  });
  const put: DockerRegistry["put"] = async (pushed) => {
    const authorization = authorizationOf(mode, pushed);
    const base = `http://${host}/v2/${pushed.repository}`;
    for (const blob of pushed.blobs ?? []) await pushBlob(base, blob, authorization);
    return putManifest(base, pushed, authorization);
  };
  return { host, put, push: (image) => put(manifestOf(image)), stop };
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

function manifestOf({ repository, tag, content, labels }: PushedImage): PushedManifest {
  const configuration = labels === undefined ? {} : { config: { Labels: labels } };
  const config = Buffer.from(JSON.stringify(configuration));
  const layer = Buffer.from(content);
  const manifest = {
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...descriptorOf(config) },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...descriptorOf(layer) }],
  };
  return { repository, reference: tag, manifest, blobs: [config, layer] };
}

async function putManifest(
  base: string,
  { reference, mediaType = manifestType, manifest }: PushedManifest,
  authorization: string,
): Promise<string> {
  const body = Buffer.from(JSON.stringify(manifest));
  const { digest } = descriptorOf(body);
  await send(`${base}/manifests/${reference ?? digest}`, {
    method: "PUT",
    headers: { authorization, "content-type": mediaType },
    body,
  });
  return digest;
}

async function pushBlob(base: string, bytes: Buffer, authorization: string): Promise<void> {
  const { digest } = descriptorOf(bytes);
  const headers = { authorization };
  const upload = await send(`${base}/blobs/uploads/`, { method: "POST", headers });
  const address = new URL(upload.headers.get("location") ?? "", base);
  address.searchParams.set("digest", digest);
  await send(address, { method: "PUT", headers, body: bytes });
}

async function send(address: string | URL, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, { ...init, signal: AbortSignal.timeout(10_000) });
  if (answer.ok) return answer;
  throw new Error(`${init.method} ${address} answered ${answer.status}: ${await answer.text()}`);
}

/** How a manifest refers to a blob. */
export function descriptorOf(bytes: Buffer): { digest: string; size: number } {
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  return { digest, size: bytes.length };
}
