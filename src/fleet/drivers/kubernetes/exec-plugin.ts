/** Credentials from a program of the cloud (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins). */
import { z } from "zod";
import { parseJson } from "#kernel/body.ts";
import { cleanWords } from "#kernel/log-text.ts";
import { environmentOfTools, type ProgramEnd, runProgram } from "#kernel/run-program.ts";
import type { ExecPlugin } from "./login.ts";
import { isPem, readPem } from "./pem.ts";

const maxOutputBytes = 1_048_576;

const ExecCredential = z.object({
  apiVersion: z.string(),
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().nullish(),
    clientCertificateData: z.string().nullish(),
    clientKeyData: z.string().nullish(),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

/** A token, or a certificate with its key, or both. `expiresAtMs` undefined: it is good until the API server refuses it. */
export type PluginCredential = {
  token: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  expiresAtMs: number | undefined;
};

/**
 * The program gets `limitMs` in all, and of `environment` what clouds' programs need. Throws an error with the last line
 * that it says on stderr, less what looks like a secret, and nothing of its output.
 */
export async function runPlugin(
  plugin: ExecPlugin,
  { limitMs = 30_000, environment = process.env } = {},
): Promise<PluginCredential> {
  const { command, args, apiVersion } = plugin;
  const env = {
    ...environmentOfTools(environment),
    ...plugin.env,
    KUBERNETES_EXEC_INFO: JSON.stringify(infoOf(plugin)),
  };
  const end = await runProgram({ command, args, env }, { limitMs, maxBytes: maxOutputBytes });
  if (end.kind !== "ended" || end.code !== 0) {
    throw new Error(`${command} ${describe(end, limitMs)}${quoteLast(end, env)}`);
  }
  try {
    return readCredential(end.output, apiVersion);
  } catch (error) {
    throw new Error(`${command} printed ${(error as Error).message}`);
  }
}

function infoOf({ apiVersion, cluster }: ExecPlugin) {
  const told = cluster && {
    server: cluster.server,
    "tls-server-name": cluster.servername,
    "insecure-skip-tls-verify": cluster.isInsecure || undefined,
    "certificate-authority-data": readPem(cluster.ca)?.toString("base64"),
    "proxy-url": cluster.proxyUrl,
    config: cluster.config,
  };
  return { apiVersion, kind: "ExecCredential", spec: { interactive: false, cluster: told } };
}

function describe(end: ProgramEnd, limitMs: number): string {
  switch (end.kind) {
    case "unstarted":
      return end.code === "ENOENT"
        ? "is not there: install it where Vedette runs, in a folder of PATH"
        : `cannot be started (${end.code})`;
    case "late":
      return `did not end within ${limitMs / 1_000} s`;
    case "large":
      return `printed more than ${maxOutputBytes / 1_048_576} MiB`;
    case "ended":
      return end.code === null ? `was ended by ${end.signal}` : `ended with ${end.code}`;
  }
}

/** A name such as `AWS_WEB_IDENTITY_TOKEN_FILE` has no secret. */
const secretName = /(?:SECRET|TOKEN|PASSWORD|PASSWD|KEY|CREDENTIAL)(?!.*_(?:FILE|PATH|URI)$)/i;
/** Whatever is long enough, beside the usual forms of secrets. */
const secretForms = [
  /[\w+=~-]{40,}(?:[./][\w+=~-]+)*/g,
  /(?<![\w+/])(?=\S*[A-Z])(?=\S*\d)[\w+/=]{40,}/g,
];

function quoteLast(end: ProgramEnd, env: NodeJS.ProcessEnv): string {
  const last = "words" in end ? (end.words.trim().split("\n").at(-1) ?? "") : "";
  const secrets = Object.entries(env).flatMap(([name, value = ""]) =>
    secretName.test(name) && value.length >= 6 ? [value] : [],
  );
  const bare = secrets.reduce((words, secret) => words.replaceAll(secret, "***"), last);
  const safe = secretForms.reduce((words, form) => words.replaceAll(form, "***"), bare);
  return safe === "" ? "" : `: ${cleanWords(safe, 200).trim()}`;
}

function readCredential(output: string, apiVersion: string): PluginCredential {
  const result = ExecCredential.safeParse(parseJson(Buffer.from(output)));
  if (!result.success) throw new Error("no ExecCredential");
  if (result.data.apiVersion !== apiVersion) {
    throw new Error(`an ExecCredential of another apiVersion than ${apiVersion}: update it`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = result.data.status;
  const cert = readPart(clientCertificateData, "certificate");
  const key = readPart(clientKeyData, "key");
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error("a certificate without its key, or a key alone");
  }
  if (!token && cert === undefined) throw new Error("neither a token nor a certificate");
  const expiresAtMs = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
  return { token: token || undefined, cert, key, expiresAtMs };
}

function readPart(text: string | null | undefined, what: string): string | undefined {
  if (!text) return undefined;
  if (!isPem(text)) throw new Error(`a ${what} that is no PEM`);
  return text;
}
