import { z } from "zod";
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
import { findUrlFault } from "#kernel/url-fault.ts";

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
  driver: z.enum(["process", "http", "docker", "kubernetes"]).default("process"),
  /** The time for which a sentinel may take to become ready before its deploy fails. */
  deploy_timeout_seconds: wholeNumber({ min: 1, max: 86_400, default: 600 }),
  /** The time for which a registry may lack an image that was ordered by its digest. */
  image_wait_seconds: wholeNumber({ min: 0, max: 3_600, default: 120 }),
  /** The interval at which the fleet is listed in the background. */
  list_every_seconds: wholeNumber({ min: 1, max: 86_400, default: 60 }),
  /**
   * A list that lacks more than this percentage of the known sentinels is refused until it is
   * confirmed; 100 accepts every list. Absent: 100 with the `process` driver, whose list is our
   * own, else 49.
   */
  list_max_missing_percent: wholeNumberIn({ min: 0, max: 100 }).optional(),
  /** The number of lines of a sentinel's log that are read and stored; 0: none, and stored ones are deleted. */
  log_lines: wholeNumber({ min: 0, max: 1_000, default: 100 }),
  /** The operators who may change its rollouts. Absent: all whose roles allow it. */
  operators: textList().removeDefault().optional(),
  process: z
    .strictObject({
      size: wholeNumber({ min: 0, max: 500, default: 12 }),
      /** The address to which the local sentinels forward. Empty: our own public API. */
      upstream_url: optionalUrl(),
      /** Addresses (CIDR) of proxies in front of the sentinels, whose X-Forwarded-For is believed. */
      trusted_proxies: networkList(),
      /** The first sentinel's port, the next one's is one higher; 0 takes free ones. */
      base_port: port(0),
    })
    .prefault({}),
  http: z.strictObject({ url: optionalUrl(), token: secretText() }).prefault({}),
  docker: z
    .strictObject({
      hosts: hostList(),
      /** The label of the containers that are sentinels: `name` or `name=value`, as in Docker's filter. */
      label: z
        .string()
        .regex(/^[\w./-]+(=.*)?$/, { error: "must be a label: name or name=value" })
        .default("vedette.sentinel"),
      /** The time for which a new container has to run without a restart, and be healthy, before it counts. */
      stable_seconds: wholeNumber({ min: 0, max: 3_600, default: 10 }),
    })
    .prefault({}),
  kubernetes: z
    .strictObject({
      /** The context of the kubeconfig; empty: its current one, and in a pod the service account. */
      context: optionalText(),
      /** Empty: that of the context, or the pod's own. */
      namespaces: textList().refine((names) => names.every((name) => namespaceName.test(name)), {
        error: "must be names of namespaces, separated by commas",
      }),
      /** The kinds of workloads; empty: Deployments. */
      kinds: textList().pipe(z.array(z.enum(["deployments", "statefulsets", "daemonsets"]))),
      /** The label selector of the workloads that are sentinels. */
      selector: z.string().trim().min(1).default("vedette.sentinel"),
      /** The container whose image is replaced; empty: what the workload calls its default, or its only one. */
      container: optionalText(),
      /** True to take over an image that another field manager has set. */
      force: flag().default(false),
      /** The time for which new pods have to be ready, unless their workload has minReadySeconds. */
      stable_seconds: wholeNumber({ min: 0, max: 3_600, default: 10 }),
      field_manager: z.string().trim().min(1).max(128).default("vedette"),
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
