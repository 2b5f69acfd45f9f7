/** Kubeconfig files as kubectl reads them (findings/kubernetes-client-node-passes-over-token-files.sh). Pure. */
import path from "node:path";
import { z } from "zod";
import { parseYaml } from "#kernel/documents.ts";
import { cleanText, hintOf, noSuch } from "#kernel/text.ts";
import { type ClusterPlace, type Login, readLogin, text, User } from "./login.ts";
import { type Pem, pemOf } from "./pem.ts";

const Cluster = z.object({
  server: z.url({ protocol: /^https?$/ }),
  "certificate-authority": text(),
  "certificate-authority-data": text(),
  "insecure-skip-tls-verify": z.boolean().nullish(),
  "tls-server-name": text(),
  "proxy-url": text().pipe(z.url({ protocol: /^(https?|socks5)$/ }).optional()),
  extensions: z.array(z.object({ name: z.string(), extension: z.unknown().optional() })).nullish(),
});

const Context = z.object({ cluster: z.string(), user: text(), namespace: text() });

/** Only what is used is read further: a fault of another cluster's entry is no concern of ours. */
const named = <Key extends string>(key: Key) =>
  z
    .array(
      z.looseObject({ name: z.string() }).transform((one) => ({ name: one.name, entry: one[key] })),
    )
    .nullish()
    .transform((list) => list ?? []);

const Kubeconfig = z.object({
  "current-context": text(),
  clusters: named("cluster"),
  contexts: named("context"),
  users: named("user"),
});

/** A file's text, and its path, to which relative paths in it belong. */
export type KubeconfigFile = { file: string; text: string };

export type ClusterAccess = ClusterPlace & {
  /** The namespace of the context; undefined: `default`. */
  namespace: string | undefined;
  cert: Pem | undefined;
  key: Pem | undefined;
  login: Login;
};

/** The context's access; empty: the current one. Of files with a name the first counts. Throws what to change. */
export function readAccess(files: readonly KubeconfigFile[], context: string): ClusterAccess {
  const read = files.map((one) => ({ ...one, config: readConfig(one) }));
  const chosen = find(read, { kind: "context", name: chooseContext(read, context) }, Context);
  const { namespace, cluster: clusterName, user: userName } = chosen.value;
  const cluster = find(read, { kind: "cluster", name: clusterName }, Cluster);
  const place = within(cluster, () => toPlace(cluster));
  if (userName === undefined) {
    return { ...place, namespace, cert: undefined, key: undefined, login: { kind: "none" } };
  }
  const user = find(read, { kind: "user", name: userName }, User);
  const config = cluster.value.extensions?.find(({ name }) => name === pluginExtension)?.extension;
  const { directory } = user;
  return within(user, () => ({
    ...place,
    namespace,
    ...toPair(user),
    login: readLogin(user.value, { directory, cluster: place, config }),
  }));
}

/** Extension for plugins, of a cluster's entry (https://kubernetes.io/docs/reference/config-api/client-authentication.v1/). */
const pluginExtension = "client.authentication.k8s.io/exec";

type Read = KubeconfigFile & { config: z.infer<typeof Kubeconfig> };

function readConfig({ file, text: content }: KubeconfigFile): Read["config"] {
  let value: unknown;
  try {
    // A warning of the parser would go to the log, with the line.
    value = parseYaml(content, { logLevel: "error", merge: true });
  } catch {
    // The parser's message quotes the line, which may be a key.
    throw new Error(`${file} is no YAML`);
  }
  const result = Kubeconfig.safeParse(value ?? {});
  if (result.success) return result.data;
  throw new Error(`${file} is no kubeconfig${placeOf(result.error)}`);
}

function chooseContext(files: readonly Read[], wanted: string): string {
  const name = wanted || files.map(({ config }) => config["current-context"]).find(Boolean);
  if (name !== undefined) return name;
  const words = "no current context: set fleet.kubernetes.context";
  throw new Error(`${namesOf(files)}: ${words}${hintOf("", choiceOf(files, "context"))}`);
}

type Kind = "context" | "cluster" | "user";
type Found<Value> = { kind: Kind; name: string; file: string; directory: string; value: Value };

function find<Value>(
  files: readonly Read[],
  { kind, name }: { kind: Kind; name: string },
  schema: z.ZodType<Value>,
): Found<Value> {
  for (const { file, config } of files) {
    const found = config[`${kind}s`].find((one) => one.name === name);
    if (found === undefined) continue;
    const result = schema.safeParse(found.entry ?? {});
    const place = { kind, name, file, directory: path.dirname(file) };
    if (result.success) return { ...place, value: result.data };
    throw describe(place, `is wrong${placeOf(result.error)}`);
  }
  throw new Error(`${namesOf(files)}: ${noSuch(kind, name, choiceOf(files, kind))}`);
}

function within<Value>(found: Found<unknown>, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw describe(found, (error as Error).message);
  }
}

function describe({ file, kind, name }: Omit<Found<unknown>, "value">, words: string): Error {
  return new Error(`${file}: the ${kind} ${cleanText(name, 100)}: ${words}`);
}

/** The path alone: zod's words may quote. */
function placeOf({ issues }: z.ZodError): string {
  const place = issues[0]?.path.join(".") ?? "";
  return place === "" ? "" : ` at ${cleanText(place, 100)}`;
}

function namesOf(files: readonly Read[]): string {
  return files.map(({ file }) => file).join(", ");
}

function choiceOf(files: readonly Read[], kind: Kind): string[] {
  const all = files.flatMap(({ config }) => config[`${kind}s`]);
  return [...new Set(all.map(({ name }) => cleanText(name, 100)))];
}

function toPlace({ value: cluster, directory }: Found<z.infer<typeof Cluster>>): ClusterPlace {
  const ca = pemOf(cluster, "certificate-authority", directory);
  const isInsecure = cluster["insecure-skip-tls-verify"] === true;
  if (isInsecure && ca !== undefined) {
    throw new Error("certificate-authority and insecure-skip-tls-verify exclude each other");
  }
  return {
    server: cluster.server.replace(/\/+$/, ""),
    ca,
    servername: cluster["tls-server-name"],
    isInsecure,
    proxyUrl: cluster["proxy-url"],
  };
}

function toPair({ value: user, directory }: Found<z.infer<typeof User>>) {
  const cert = pemOf(user, "client-certificate", directory);
  const key = pemOf(user, "client-key", directory);
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error("client-certificate and client-key belong together: give both");
  }
  return { cert, key };
}
