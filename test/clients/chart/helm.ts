/** The published helm at our chart. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments, stringify } from "yaml";
import { tempDir } from "../../support/temp-dir.ts";

export const chart = fileURLToPath(new URL("../../../deploy/chart", import.meta.url));
export const plain = fileURLToPath(new URL("../../../deploy/kubernetes", import.meta.url));

/** Three sets of values, beside the chart; and those of the plain manifests. */
export const sets = ["smallest", "production", "everything"] as const;
export const setFile = (name: (typeof sets)[number]) => path.join(chart, `ci/${name}-values.yaml`);
export const plainFile = path.join(plain, "values.yaml");

/** What a rendered object has; the rest is checked by schemas. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: of every kind that there is
  [field: string]: any;
};

export type Ended = { code: number; stdout: string; stderr: string };

/** Helm looks at a chart for a second at most; what takes longer hangs. */
const limitMs = 120_000;
const mostBytes = 16 * 1024 * 1024;

/** Without a home, a kubeconfig or plugins of whoever runs the tests. */
export function runHelm(program: string, args: readonly string[]): Promise<Ended> {
  const home = tempDir();
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: path.join(home, "none") };
  const limits = { timeout: limitMs, killSignal: "SIGKILL" as const, maxBuffer: mostBytes };
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd: home, ...limits }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      resolve({ code: typeof code === "number" ? code : -1, stdout, stderr });
    });
  });
}

export type Wanted = {
  files: readonly string[];
  /** Values that go over those of the files. */
  over?: object;
  /** API groups that the cluster has besides Kubernetes' own. */
  apis?: readonly string[];
  /** Of a cluster that may be asked, as at an upgrade; absent: none is. */
  kubeconfig?: string;
};

/** `helm template` of the release `vedette` in the namespace `vedette`, as text. */
export function template(
  program: string,
  { files, over, apis = [], kubeconfig }: Wanted,
): Promise<Ended> {
  const all = over === undefined ? files : [...files, writeValues(over)];
  return runHelm(program, [
    ...["template", "vedette", chart, "--namespace", "vedette"],
    ...all.flatMap((file) => ["--values", file]),
    ...apis.flatMap((api) => ["--api-versions", api]),
    ...(kubeconfig === undefined
      ? []
      : ["--dry-run=server", "--disable-openapi-validation", "--kubeconfig", kubeconfig]),
  ]);
}

function writeValues(values: object): string {
  const file = path.join(tempDir(), "over.yaml");
  writeFileSync(file, stringify(values));
  return file;
}

export const prometheus = "monitoring.coreos.com/v1";

/** The objects that a set of values makes. Throws with what helm says. */
export async function render(program: string, wanted: Wanted): Promise<Manifest[]> {
  const { code, stdout, stderr } = await template(program, { apis: [prometheus], ...wanted });
  if (code !== 0) throw new Error(stderr);
  return readManifests(stdout);
}

export function readManifests(text: string): Manifest[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  const faults = documents.flatMap(({ errors }) => errors);
  if (faults[0] !== undefined) throw faults[0];
  return documents
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
}

/** The only one of this kind and name. */
export function find(objects: readonly Manifest[], kind: string, name: string): Manifest {
  const found = objects.filter((one) => one.kind === kind && one.metadata.name === name);
  if (found[0] === undefined || found.length > 1) {
    throw new Error(`${found.length} objects ${kind} ${name}`);
  }
  return found[0];
}

export const ofKind = (objects: readonly Manifest[], kind: string): Manifest[] =>
  objects.filter((object) => object.kind === kind);
