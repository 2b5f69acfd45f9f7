/** Credentials from a program of the cloud (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins). */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";
import { cleanText } from "#kernel/clean-text.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

const limitMs = 30_000;
const maxOutputBytes = 1_048_576;

const ExecCredential = z.object({
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});

/** `expiresAtMs` undefined: it is good until the API server refuses it. */
export type PluginCredential = {
  token: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  expiresAtMs: number | undefined;
};

/** Throws an error with what the program says on stderr, and nothing of its output, which is a secret. */
export async function runPlugin(plugin: ExecPlugin): Promise<PluginCredential> {
  const { apiVersion, command, args, env, cluster } = plugin;
  const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false, cluster } };
  const told = { KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      env: { ...process.env, ...env, ...told },
      timeout: limitMs,
      killSignal: "SIGKILL",
      maxBuffer: maxOutputBytes,
    });
    return readCredential(stdout);
  } catch (error) {
    throw new Error(`${command}: ${wordsOf(error as Failure)}`);
  }
}

function readCredential(output: string): PluginCredential {
  const { status } = ExecCredential.parse(JSON.parse(output));
  const { token, clientCertificateData: cert, clientKeyData: key } = status;
  const expires = status.expirationTimestamp;
  return { token, cert, key, expiresAtMs: expires === undefined ? undefined : Date.parse(expires) };
}

type Failure = Error & { code?: number | string; killed?: boolean; stderr?: string };

function wordsOf({ name, code, killed, stderr = "" }: Failure): string {
  if (killed === true) return `it did not end within ${limitMs / 1_000} s`;
  if (code === "ENOENT") return "there is no such program";
  const said = cleanText(stderr.trim().split("\n").at(-1) ?? "", 200);
  if (code !== undefined) return `it ended with ${code}${said === "" ? "" : `: ${said}`}`;
  return name === "ZodError" || name === "SyntaxError" ? "it printed no ExecCredential" : name;
}
