/** Kubeconfig files (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/). Pure. */
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";

const text = () =>
  z
    .string()
    .nullish()
    .transform((value) => value || undefined);

const Cluster = z.object({
  server: z.url({ protocol: /^https?$/ }),
  "certificate-authority": text(),
  "certificate-authority-data": text(),
  "insecure-skip-tls-verify": z.boolean().nullish(),
  "tls-server-name": text(),
  "proxy-url": text(),
});

const Exec = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  provideClusterInfo: z.boolean().nullish(),
});

const User = z.object({
  "client-certificate": text(),
  "client-certificate-data": text(),
  "client-key": text(),
  "client-key-data": text(),
  token: text(),
  tokenFile: text(),
  username: text(),
  password: text(),
  exec: Exec.nullish(),
  "auth-provider": z.unknown().optional(),
});

const Context = z.object({ cluster: z.string(), user: z.string().default(""), namespace: text() });

const named = <Key extends string, Value extends z.ZodType>(key: Key, value: Value) =>
  z
    .array(z.object({ name: z.string() }).and(z.object({ [key]: value } as Record<Key, Value>)))
    .nullish()
    .transform((list) => list ?? []);

const Kubeconfig = z.object({
  "current-context": text(),
  clusters: named("cluster", Cluster),
  contexts: named("context", Context),
  users: named("user", User),
});

/** A file's text, and its path, to which relative paths in it belong. */
export type KubeconfigFile = { file: string; text: string };

/** A PEM text, or a file that has one. */
export type Pem = { data: Buffer } | { file: string };

export type ExecPlugin = {
  apiVersion: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** What the plugin is told of the cluster; undefined: nothing. */
  cluster?: { server: string; "certificate-authority-data"?: string } | undefined;
};

/** How a user shows who they are. */
export type Login =
  | { kind: "none" }
  | { kind: "token"; token: string }
  | { kind: "token-file"; file: string }
  | { kind: "password"; username: string; password: string }
  | { kind: "exec"; plugin: ExecPlugin };

export type ClusterAccess = {
  server: string;
  /** Of the context; undefined: `default`. */
  namespace: string | undefined;
  ca: Pem | undefined;
  servername: string | undefined;
  isInsecure: boolean;
  proxyUrl: string | undefined;
  cert: Pem | undefined;
  key: Pem | undefined;
  login: Login;
};

/**
 * The access that a context gives; empty: the current one. Of several files the first that has a name counts. Throws an
 * error that quotes nothing of the files but names.
 */
export function readAccess(files: readonly KubeconfigFile[], context: string): ClusterAccess {
  const read = files.map((one) => ({ ...one, config: readConfig(one) }));
  const wanted = context || read.map(({ config }) => config["current-context"]).find(Boolean);
  if (wanted === undefined) throw new Error("no context: set fleet.kubernetes.context");
  const { context: chosen } = find(read, "contexts", wanted);
  const cluster = find(read, "clusters", chosen.cluster);
  const user = chosen.user === "" ? undefined : find(read, "users", chosen.user);
  return toAccess(chosen.namespace, cluster, user);
}

type Read = KubeconfigFile & { config: z.infer<typeof Kubeconfig> };
type Lists = Pick<Read["config"], "clusters" | "contexts" | "users">;

function readConfig({ file, text: content }: KubeconfigFile): Read["config"] {
  let value: unknown;
  try {
    value = parse(content);
  } catch {
    // The parser's message quotes the line, which may be a key.
    throw new Error(`${file} is no YAML`);
  }
  const result = Kubeconfig.safeParse(value ?? {});
  if (result.success) return result.data;
  throw new Error(`${file} is no kubeconfig: wrong at ${result.error.issues[0]?.path.join(".")}`);
}

function find<Kind extends keyof Lists>(
  files: readonly Read[],
  kind: Kind,
  name: string,
): Lists[Kind][number] & { directory: string } {
  for (const { file, config } of files) {
    const found = (config[kind] as Lists[Kind][number][]).find((one) => one.name === name);
    if (found !== undefined) return { ...found, directory: path.dirname(file) };
  }
  const one = kind.slice(0, -1);
  throw new Error(`${files.map(({ file }) => file).join(", ")}: there is no ${one} ${name}`);
}

function toAccess(
  namespace: string | undefined,
  { cluster, directory }: Lists["clusters"][number] & { directory: string },
  found: (Lists["users"][number] & { directory: string }) | undefined,
): ClusterAccess {
  const user = found?.user;
  const own = found?.directory ?? "";
  const ca = pemOf(cluster, "certificate-authority", directory);
  return {
    server: cluster.server.replace(/\/+$/, ""),
    namespace,
    ca,
    servername: cluster["tls-server-name"],
    isInsecure: cluster["insecure-skip-tls-verify"] === true,
    proxyUrl: cluster["proxy-url"],
    cert: user && pemOf(user, "client-certificate", own),
    key: user && pemOf(user, "client-key", own),
    login: user === undefined ? { kind: "none" } : loginOf(user, { directory: own, cluster }),
  };
}

/** What is in the file itself comes before what it names. */
function pemOf<Name extends string>(
  of: Partial<Record<Name | `${Name}-data`, string | undefined>>,
  name: Name,
  directory: string,
): Pem | undefined {
  const data = of[`${name}-data`];
  if (data !== undefined) return { data: Buffer.from(data, "base64") };
  const file = of[name];
  return file === undefined ? undefined : { file: path.resolve(directory, file) };
}

function loginOf(
  user: z.infer<typeof User>,
  { directory, cluster }: { directory: string; cluster: z.infer<typeof Cluster> },
): Login {
  if (user.token !== undefined) return { kind: "token", token: user.token };
  if (user.tokenFile !== undefined) {
    return { kind: "token-file", file: path.resolve(directory, user.tokenFile) };
  }
  if (user.exec) return { kind: "exec", plugin: pluginOf(user.exec, { directory, cluster }) };
  if (user.username !== undefined) {
    return { kind: "password", username: user.username, password: user.password ?? "" };
  }
  if (user["auth-provider"] !== undefined) {
    throw new Error("its user has an auth-provider, which Kubernetes has removed: use exec");
  }
  return { kind: "none" };
}

function pluginOf(
  { apiVersion, command, args, env, provideClusterInfo }: z.infer<typeof Exec>,
  { directory, cluster }: { directory: string; cluster: z.infer<typeof Cluster> },
): ExecPlugin {
  const isPath = command.includes("/");
  const data = cluster["certificate-authority-data"];
  return {
    apiVersion,
    // A bare name is looked up in PATH.
    command: isPath ? path.resolve(directory, command) : command,
    args: args ?? [],
    env: Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
    ...(provideClusterInfo === true && {
      cluster: {
        server: cluster.server,
        ...(data !== undefined && { "certificate-authority-data": data }),
      },
    }),
  };
}
