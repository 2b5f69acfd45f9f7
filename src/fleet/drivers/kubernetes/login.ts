/** Reads the login of a user of a kubeconfig. Pure. */
import path from "node:path";
import { z } from "zod";
import type { Pem } from "./pem.ts";

/** An empty text counts as absent, as in kubectl. */
export const text = () =>
  z
    .string()
    .nullish()
    .transform((value) => value || undefined);

const Exec = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z
    .array(z.object({ name: z.string().regex(/^[^=\0]+$/), value: z.string().default("") }))
    .nullish(),
  provideClusterInfo: z.boolean().nullish(),
  interactiveMode: z.string().nullish(),
});

/** Fields that we must not ignore: without them we would act as somebody else. */
const impersonation = ["as", "as-uid", "as-groups", "as-user-extra"] as const;

export const User = z.object({
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
  as: z.unknown().optional(),
  "as-uid": z.unknown().optional(),
  "as-groups": z.unknown().optional(),
  "as-user-extra": z.unknown().optional(),
});

type UserEntry = z.infer<typeof User>;

/** The address of an API server, and the means to verify it. */
export type ClusterPlace = {
  server: string;
  ca: Pem | undefined;
  servername: string | undefined;
  isInsecure: boolean;
  proxyUrl: string | undefined;
};

export type ExecPlugin = {
  apiVersion: string;
  /** An absolute path, or a name that is looked up in PATH. */
  command: string;
  args: string[];
  env: Record<string, string>;
  /** The cluster as it is passed to the plugin, with its entry in the kubeconfig; undefined: it is not. */
  cluster?: (ClusterPlace & { config: unknown }) | undefined;
};

export type Login =
  | { kind: "none" }
  | { kind: "token"; token: string }
  | { kind: "token-file"; file: string }
  | { kind: "password"; username: string; password: string }
  | { kind: "exec"; plugin: ExecPlugin };

/** `directory` is that of the user's file. */
export type LoginPlace = { directory: string; cluster: ClusterPlace; config: unknown };

/** A token comes before a file with one, that before a plugin, that before a password. Throws what has to change. */
export function readLogin(user: UserEntry, place: LoginPlace): Login {
  if (impersonation.some((name) => isThere(user[name]))) {
    throw new Error("acts as another one (as), which is not supported: name a user without it");
  }
  if (user.token !== undefined) return { kind: "token", token: user.token };
  if (user.tokenFile !== undefined) {
    return { kind: "token-file", file: path.resolve(place.directory, user.tokenFile) };
  }
  if (user.exec) return { kind: "exec", plugin: readPlugin(user.exec, place) };
  if (user.username !== undefined) {
    return { kind: "password", username: user.username, password: user.password ?? "" };
  }
  if (isThere(user["auth-provider"])) {
    throw new Error("has an auth-provider, which Kubernetes has removed: use exec");
  }
  return { kind: "none" };
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

const versions = ["v1", "v1beta1"].map((version) => `client.authentication.k8s.io/${version}`);

function readPlugin(exec: z.infer<typeof Exec>, place: LoginPlace): ExecPlugin {
  const { apiVersion, command, args, env } = exec;
  if (!versions.includes(apiVersion)) {
    throw new Error(`has an exec of another apiVersion than ${versions.join(" or ")}: change it`);
  }
  if (exec.interactiveMode === "Always") {
    throw new Error("has an exec that asks at a terminal (interactiveMode: Always): use another");
  }
  return {
    apiVersion,
    command: command.includes("/") ? path.resolve(place.directory, command) : command,
    args: args ?? [],
    env: Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
    ...(exec.provideClusterInfo === true && {
      cluster: { ...place.cluster, config: place.config },
    }),
  };
}
