/** Where the cluster is and who we are there: inside of it by its service account, else by a kubeconfig. */
import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import path from "node:path";
import { type ClusterAccess, readAccess } from "./kubeconfig.ts";

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Without a context of its own name a pod uses its service account. Throws an error that says what to set. */
export function findAccess(context: string, environment: NodeJS.ProcessEnv): ClusterAccess {
  const named = environment["KUBECONFIG"];
  const host = environment["KUBERNETES_SERVICE_HOST"];
  if (context === "" && !named && host) return inCluster(host, environment);
  const given = named ? named.split(path.delimiter) : [path.join(homedir(), ".kube", "config")];
  const files = given.filter((file) => file !== "" && existsSync(file));
  if (files.length === 0) {
    throw new Error(
      `fleet.driver "kubernetes" finds no cluster: ${given.join(", ")} does not exist, and this is no pod; set KUBECONFIG`,
    );
  }
  return readAccess(
    files.map((file) => ({ file, text: readFileSync(file, "utf8") })),
    context,
  );
}

function inCluster(host: string, environment: NodeJS.ProcessEnv): ClusterAccess {
  const port = environment["KUBERNETES_SERVICE_PORT"] || "443";
  const file = path.join(serviceAccount, "namespace");
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: existsSync(file) ? readFileSync(file, "utf8").trim() : undefined,
    ca: { file: path.join(serviceAccount, "ca.crt") },
    servername: undefined,
    isInsecure: false,
    proxyUrl: undefined,
    cert: undefined,
    key: undefined,
    login: { kind: "token-file", file: path.join(serviceAccount, "token") },
  };
}
