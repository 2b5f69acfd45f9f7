import { z } from "zod";
import { findUrlFault } from "#kernel/address.ts";
import { refuseBy } from "#kernel/faults.ts";
import {
  flag,
  networkList,
  optionalText,
  optionalUrl,
  port,
  secretText,
  textList,
  wholeNumber,
  wholeNumberIn,
} from "#kernel/setting.ts";
import { OnDrift } from "./drift-contract.ts";

const engineUrl = {
  schemes: ["tcp", "https", "http", "ssh"],
  example: "tcp://docker.example.com:2376",
};

const DockerHost = z.strictObject({
  /** The first part of its sentinels' ids. */
  name: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,62}$/i, {
    error: "must be letters, digits, dots and dashes",
  }),
  url: z.string().superRefine(
    refuseBy((url) => {
      const words = "must be unix:///path, tcp://host:port, https://host:port or ssh://user@host";
      const fault = /^unix:\/\/\/./.test(url) ? undefined : findUrlFault(url, engineUrl);
      return fault && `${words}: it ${fault}`;
    }),
  ),
  region: optionalText(),
  /** Files for TLS: the authority of the engine's certificate, our certificate and its key. */
  ca: optionalText(),
  cert: optionalText(),
  key: optionalText(),
  /** While it is away, the fleet is listed without it; else the list fails. */
  optional: flag().default(false),
});

/** Tables; from the environment `name=url`, separated by commas. */
const hostList = () =>
  z
    .preprocess(readHosts, z.array(DockerHost).min(1))
    .refine((hosts) => new Set(hosts.map(({ name }) => name)).size === hosts.length, {
      error: "must have different names",
    })
    .default([DockerHost.parse({ name: "local", url: "unix:///var/run/docker.sock" })]);

function readHosts(given: unknown): unknown {
  if (typeof given !== "string") return given;
  return given.split(",").map((entry) => {
    const [name = "", ...url] = entry.trim().split("=");
    return { name, url: url.join("=") };
  });
}

const namespaceName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The settings of a fleet by itself: of the default one, and of each that has a name. */
export const fleetFields = {
  driver: z
    .enum(["process", "http", "docker", "kubernetes"])
    .default("process")
    .describe("How sentinels are replaced; `process`: local ones"),
  deploy_timeout_seconds: wholeNumber({ min: 1, max: 86_400, default: 600 }).describe(
    "When a deploy that is not ready fails",
  ),
  image_wait_seconds: wholeNumber({ min: 0, max: 3_600, default: 120 }).describe(
    "How long a registry may lack an image ordered by digest (`docker`, `kubernetes`)",
  ),
  list_every_seconds: wholeNumber({ min: 1, max: 86_400, default: 60 }).describe(
    "How often the fleet is listed",
  ),
  list_max_missing_percent: wholeNumberIn({ min: 0, max: 100 })
    .optional()
    .describe("A list that lacks more has to be confirmed; absent: 100 for `process`, else 49"),
  log_lines: wholeNumber({ min: 0, max: 1_000, default: 100 }).describe(
    "Lines of a sentinel's log that are read and kept",
  ),
  counters: z
    .strictObject({
      source: z
        .enum(["off", "fleet", "prometheus"])
        .optional()
        .describe(
          "Where gates of the kind `compare` read counters; absent: `fleet` for `process`, else `off`",
        ),
      requests: optionalText().describe("PromQL at `rollout.prometheus_url`: requests since ever"),
      errors: optionalText().describe("The same of answers of 500 or above"),
      slow: optionalText().describe("The same of slow requests; empty: not compared"),
      restarts: optionalText().describe("The same of restarts; empty: not compared"),
      label: optionalText().describe("Their label with the sentinel's id"),
    })
    .refine(
      ({ source, requests, errors, label }) =>
        source !== "prometheus" || [requests, errors, label].every(Boolean),
      { error: 'source "prometheus" needs requests, errors and label' },
    )
    .prefault({}),
  on_drift: OnDrift.default("report").describe(
    "`converge`: bring sentinels back to the desired image",
  ),
  operators: textList()
    .removeDefault()
    .optional()
    .describe("Who may change its rollouts, by name; absent: as roles allow"),
  process: z
    .strictObject({
      size: wholeNumber({ min: 0, max: 500, default: 12 }).describe(
        "The number of local sentinels",
      ),
      upstream_url: optionalUrl().describe("Where they forward to; empty: the public API"),
      trusted_proxies: networkList().describe(
        "Proxies (addresses, CIDR) before them whose `X-Forwarded-For` is believed",
      ),
      base_port: port(0).describe("The port of the first one; 0: free ones"),
    })
    .prefault({}),
  http: z
    .strictObject({
      url: optionalUrl().describe("The address of a fleet of your own"),
      token: secretText().describe("The bearer token of calls to it"),
    })
    .prefault({}),
  docker: z
    .strictObject({
      hosts: hostList().describe(
        "Hosts: `name`, `url`, `region`, `ca`, `cert`, `key`, `optional`; as text `name=url`; absent: this machine's socket",
      ),
      label: z
        .string()
        .regex(/^[\w./-]+(=.*)?$/, { error: "must be a label: name or name=value" })
        .default("vedette.sentinel")
        .describe("The label of sentinels: `name` or `name=value`"),
      stable_seconds: wholeNumber({ min: 0, max: 3_600, default: 10 }).describe(
        "How long a new container has to run, and be healthy",
      ),
    })
    .prefault({}),
  kubernetes: z
    .strictObject({
      context: optionalText().describe(
        "A context of the kubeconfig; empty: the current one, or the pod's service account",
      ),
      namespaces: textList()
        .refine((names) => names.every((name) => namespaceName.test(name)), {
          error: "must be names of namespaces, separated by commas",
        })
        .describe("Namespaces of sentinels; empty: the context's, or the pod's own"),
      kinds: textList()
        .pipe(z.array(z.enum(["deployments", "statefulsets", "daemonsets"])))
        .describe("`deployments`, `statefulsets`, `daemonsets`; empty: `deployments`"),
      selector: z
        .string()
        .trim()
        .min(1)
        .default("vedette.sentinel")
        .describe("Their label selector"),
      container: optionalText().describe(
        "The container to replace; empty: the default or only one",
      ),
      force: flag().default(false).describe("Take the image from another field manager"),
      stable_seconds: wholeNumber({ min: 0, max: 3_600, default: 10 }).describe(
        "How long new pods have to be ready, unless `minReadySeconds` says so",
      ),
      field_manager: z
        .string()
        .trim()
        .min(1)
        .max(128)
        .default("vedette")
        .describe("Vedette's name at the API server"),
    })
    .prefault({}),
};

type DriverAddress = { driver: string; http: { url: string } };

export const hasAddress = ({ driver, http }: DriverAddress) => driver !== "http" || http.url !== "";

export const fleetConfig = {
  fleet: z
    .strictObject(fleetFields)
    .refine(hasAddress, { error: 'fleet.driver "http" needs fleet.http.url' })
    .prefault({}),
};

export type FleetConfig = z.infer<typeof fleetConfig.fleet>;

/** Where the counters of a fleet's sentinels are read. */
export function countersSourceOf({ driver, counters }: Pick<FleetConfig, "driver" | "counters">) {
  return counters.source ?? (driver === "process" ? "fleet" : "off");
}
