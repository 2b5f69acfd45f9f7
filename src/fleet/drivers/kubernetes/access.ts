/** Finds the cluster and our identity there: inside of it by its service account, else by a kubeconfig. */
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import path from "node:path";
import { type ClusterAccess, readAccess } from "./kubeconfig.ts";
import { readShortFile } from "./pem.ts";

const mount = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Without context or kubeconfig a pod uses its service account at `serviceAccount`. Throws what to set. */
export function findAccess(
  context: string,
  environment: NodeJS.ProcessEnv,
  serviceAccount = mount,
): ClusterAccess {
  const named = (environment["KUBECONFIG"] ?? "").split(path.delimiter).filter(Boolean);
  const host = environment["KUBERNETES_SERVICE_HOST"];
  if (context === "" && named.length === 0 && host) {
    const port = environment["KUBERNETES_SERVICE_PORT"] || "443";
    return inCluster(`${isIPv6(host) ? `[${host}]` : host}:${port}`, serviceAccount);
  }
  const home = environment["HOME"] || homedir();
  const given = named.length > 0 ? named : [path.join(home, ".kube", "config")];
  // A missing file is left out, as in kubectl.
  const files = given.flatMap((file) => {
    const bytes = readShortFile(file);
    return bytes === undefined ? [] : [{ file, text: bytes.toString() }];
  });
  if (files.length > 0) return readAccess(files, context);
  throw new Error(
    `fleet.driver "kubernetes" finds no cluster: there is no ${given.join(", ")}, and ${host ? "fleet.kubernetes.context is set" : "this is no pod"}; set KUBECONFIG`,
  );
}

/** The server, if it takes orders from whoever reaches it, as that of `kubectl proxy` does; empty: it does not, or none is found. */
export function findOpenServer(context: string, environment: NodeJS.ProcessEnv): string {
  try {
    const { server, login, cert } = findAccess(context, environment);
    return login.kind === "none" && cert === undefined ? server : "";
  } catch {
    // The driver says why.
    return "";
  }
}

function inCluster(address: string, serviceAccount: string): ClusterAccess {
  const token = path.join(serviceAccount, "token");
  if (readShortFile(token) === undefined) {
    throw new Error(
      `fleet.driver "kubernetes": this pod has no ${token}; set automountServiceAccountToken in its spec, or KUBECONFIG`,
    );
  }
  const namespace = readShortFile(path.join(serviceAccount, "namespace"))?.toString().trim();
  return {
    server: `https://${address}`,
    namespace: namespace || undefined,
    ca: { file: path.join(serviceAccount, "ca.crt") },
    servername: undefined,
    isInsecure: false,
    proxyUrl: undefined,
    cert: undefined,
    key: undefined,
    login: { kind: "token-file", file: token },
  };
}
