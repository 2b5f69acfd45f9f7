/** Images of a few kilobytes that do what a sentinel may do, in a registry of our own. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { type DockerRegistry, descriptorOf } from "../servers/docker-registry.ts";

type ImageConfig = {
  Cmd: string[];
  Env?: string[];
  Labels?: Record<string, string>;
  Healthcheck?: object;
  User?: string;
  Volumes?: Record<string, object>;
};

const sleep = (seconds: number) => ["/bin/busybox", "sleep", String(seconds)];
const shell = (script: string) => ["/bin/busybox", "sh", "-c", script];

/** Ends on SIGTERM at once, which process 1 of a container does not do by itself. */
const untilEnded = 'trap "exit 0" TERM; /bin/busybox sleep 100000 & wait';
const serve = shell(untilEnded);

const second = 1_000_000_000;
const check = (script: string) => ({
  Test: ["CMD", ...shell(script)],
  Interval: second / 4,
  Timeout: second * 10,
  Retries: 2,
});

/** By the end of the tag. */
const behaviours: Record<string, ImageConfig> = {
  crash: { Cmd: shell("echo reading settings; echo no database: password=hunter2 >&2; exit 1") },
  late: { Cmd: shell("/bin/busybox sleep 0.5; exit 7") },
  sick: { Cmd: serve, Healthcheck: check("echo no upstream; exit 3") },
  well: { Cmd: serve, Healthcheck: check("exit 0") },
  starting: { Cmd: serve, Healthcheck: { ...check("exit 1"), StartPeriod: second * 3_600 } },
  stubborn: { Cmd: sleep(1_000) },
  /** Not where its environment says so. */
  choosy: { Cmd: shell(`test -z "$BROKEN" || exit 5; ${untilEnded}`) },
  chatty: { Cmd: shell(`echo listening; ${untilEnded}`) },
  missing: { Cmd: ["/bin/nothing"] },
};

/** Pushes `repository:tag`; answers its name with its digest. */
export async function pushImage(
  registry: DockerRegistry,
  tag: string,
  { repository = "vedette/sentinel", config = {} as Partial<ImageConfig> } = {},
): Promise<string> {
  const layer = layerOf(tag);
  const image = behaviours[tag.split("-").at(-1) ?? ""] ?? { Cmd: serve };
  const description = {
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config: { Env: [`VERSION=${tag}`], Labels: { version: tag }, ...image, ...config },
    rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
    history: [],
  };
  const blob = gzipSync(layer);
  const configuration = Buffer.from(JSON.stringify(description));
  const digest = await registry.put({
    repository,
    reference: tag,
    mediaType: "application/vnd.docker.distribution.manifest.v2+json",
    manifest: {
      schemaVersion: 2,
      mediaType: "application/vnd.docker.distribution.manifest.v2+json",
      config: {
        mediaType: "application/vnd.docker.container.image.v1+json",
        ...descriptorOf(configuration),
      },
      layers: [
        { mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip", ...descriptorOf(blob) },
      ],
    },
    blobs: [configuration, blob],
  });
  return `${registry.host}/${repository}:${tag}@${digest}`;
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** A busybox that needs no library, and the tag, by which each image is another one. */
function layerOf(tag: string): Buffer {
  return Buffer.concat([
    // Without it an engine makes one that only a process with all capabilities enters.
    tarEntry("bin/", undefined, "0000755"),
    tarEntry("bin/busybox", readFileSync("/bin/busybox"), "0000755"),
    tarEntry("tag", Buffer.from(tag), "0000644"),
    Buffer.alloc(1_024),
  ]);
}

/** A file, or a directory if it has no content, in a tar archive (POSIX ustar). */
function tarEntry(name: string, file: Buffer | undefined, mode: string): Buffer {
  const content = file ?? Buffer.alloc(0);
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`${mode}\0`, 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write(file === undefined ? "5" : "0", 156);
  header.write("ustar\0", 257);
  header.write("00", 263);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, padding]);
}
