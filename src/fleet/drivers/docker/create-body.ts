/** The body that creates a container like another one, of another image. Pure. */
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ReasonCode } from "#fleet/contract.ts";
import { isOfOneContainer } from "./family.ts";
import type { ContainerInfo, Endpoint, ImageInfo } from "./schemas.ts";

type Json = Record<string, unknown>;

type CreateBody = Json & {
  Image: string;
  Labels: Record<string, string>;
  HostConfig: Json;
  NetworkingConfig: { EndpointsConfig: Record<string, Endpoint> };
};

/** `labels`: those of the deploy. `everyNetwork`: the engine connects a new container to several networks at once. */
export type Wanted = { image: string; labels: Record<string, string>; everyNetwork: boolean };

/** undefined: it can be. `AutoRemove` leaves no way back, a swarm makes its own again, others depend on another one. */
export function findObstacle({ HostConfig: host, Config }: ContainerInfo): string | undefined {
  const { Labels: labels } = Config;
  const code: ReasonCode = "config_invalid";
  if ("com.docker.swarm.task.id" in labels) return `${code}: the container is a task of a swarm`;
  if (host["AutoRemove"] === true) return `${code}: the container is removed when it stops (--rm)`;
  const shared = ["NetworkMode", "PidMode", "IpcMode"].find((mode) =>
    String(host[mode] ?? "").startsWith("container:"),
  );
  if (shared !== undefined) return `${code}: the container shares ${shared} with another one`;
  const depends = ["VolumesFrom", "Links"].find((key) => lengthOf(host[key]) > 0);
  return depends === undefined ? undefined : `${code}: the container has ${depends}`;
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}

/** An engine reports a container's settings mixed with those of its image: what is the old image's stays behind. */
export function createBody(old: ContainerInfo, base: ImageInfo, wanted: Wanted): CreateBody {
  const { Labels: _, ...own } = ownConfig(old, base.Config);
  return {
    ...own,
    Image: wanted.image,
    Labels: { ...ownLabels(old, base.Config), ...wanted.labels },
    HostConfig: { ...old.HostConfig, Mounts: mountsOf(old) },
    NetworkingConfig: { EndpointsConfig: endpointsOf(old, wanted.everyNetwork) },
  };
}

/** Each is left out when it is what the image says. */
const whole = ["User", "WorkingDir", "StopSignal", "Shell", "Healthcheck"];
/** Tied to the old container, or of an engine's own. */
const dropped = ["Image", "MacAddress", "AttachStdin", "AttachStdout", "AttachStderr"];

function ownConfig(old: ContainerInfo, base: Json): Json {
  const config: Json = { ...old.Config };
  for (const key of dropped) delete config[key];
  for (const key of whole) if (isDeepStrictEqual(config[key], base[key])) delete config[key];
  const isEntrypointOwn = !isSame(config["Entrypoint"], base["Entrypoint"]);
  // An empty one, which is what takes the image's away, is reported as none.
  if (isEntrypointOwn) config["Entrypoint"] = listOr(config["Entrypoint"], [""]);
  else delete config["Entrypoint"];
  // With an entrypoint of its own a container does not get the image's command.
  if (!isEntrypointOwn && isSame(config["Cmd"], base["Cmd"])) delete config["Cmd"];
  config["Env"] = ownEntries(config["Env"], base["Env"]);
  for (const key of ["ExposedPorts", "Volumes"]) config[key] = ownKeys(config[key], base[key]);
  if (isHostnameGiven(old)) delete config["Hostname"];
  return config;
}

function isSame(own: unknown, inherited: unknown): boolean {
  return isDeepStrictEqual(listOr(own, []), listOr(inherited, []));
}

function listOr(given: unknown, instead: string[]): unknown[] {
  return Array.isArray(given) && given.length > 0 ? given : instead;
}

/** By the engine: the beginning of the id, or the host's own name. */
function isHostnameGiven({ Id, Config, HostConfig }: ContainerInfo): boolean {
  return Id.startsWith(String(Config["Hostname"])) || HostConfig.NetworkMode === "host";
}

function ownEntries(list: unknown, base: unknown): unknown[] {
  const inherited = new Set(Array.isArray(base) ? base : []);
  return (Array.isArray(list) ? list : []).filter((entry) => !inherited.has(entry));
}

function ownKeys(table: unknown, base: unknown): Json {
  const inherited = (base ?? {}) as Json;
  return Object.fromEntries(
    Object.entries((table ?? {}) as Json).filter(([key]) => !(key in inherited)),
  );
}

function ownLabels({ Config: { Labels: labels } }: ContainerInfo, base: Json) {
  const inherited = (base["Labels"] ?? {}) as Json;
  return Object.fromEntries(
    Object.entries(labels).filter(
      ([name, value]) => inherited[name] !== value && !isOfOneContainer(name),
    ),
  );
}

type Mount = ContainerInfo["Mounts"][number];

/** With the volumes that have no name of the user's: without it they would be new ones, and the data left behind. */
function mountsOf({ HostConfig: host, Mounts: mounts }: ContainerInfo): unknown[] {
  const volumes = new Map(
    mounts.filter(({ Type }) => Type === "volume").map((one) => [toPath(one.Destination), one]),
  );
  const given = objectsOf(host["Mounts"]);
  const named = new Set([
    ...given.map(({ Target }) => toPath(Target)),
    ...(Array.isArray(host["Binds"]) ? host["Binds"] : []).map((bind) =>
      toPath(String(bind).split(":")[1]),
    ),
  ]);
  const kept = [...volumes].filter(([target]) => !named.has(target)).map(([, one]) => toMount(one));
  return [
    ...given.map((mount) => withSource(mount, volumes.get(toPath(mount["Target"])))),
    ...kept,
  ];
}

function withSource(mount: Json, volume: Mount | undefined): Json {
  const isNameless = mount["Type"] === "volume" && !mount["Source"];
  return isNameless && volume !== undefined ? { ...mount, Source: volume.Name } : mount;
}

function toMount({ Name, Destination }: Mount): Json {
  return { Type: "volume", Source: Name, Target: Destination };
}

/** Normalizes a path as engines do to compare it. */
function toPath(target: unknown): string {
  return path.posix.join("/", String(target ?? "")).replace(/(?<=.)\/$/, "");
}

function objectsOf(list: unknown): Json[] {
  return (Array.isArray(list) ? list : []).filter((one) => typeof one === "object" && one !== null);
}

/** Before API 1.44 an engine takes one network at creation, and the others afterwards. */
function endpointsOf(old: ContainerInfo, every: boolean): Record<string, Endpoint> {
  const { NetworkMode: mode } = old.HostConfig;
  if (mode === "host" || mode === "none") return {};
  const networks = Object.entries(old.NetworkSettings.Networks).map(
    ([name, endpoint]) => [name, endpointOf(old, endpoint)] as const,
  );
  const first = networks.find(([name]) => name === mode) ?? networks[0];
  return Object.fromEntries(every || first === undefined ? networks : [first]);
}

/** Without the addresses that the engine has given, and the alias that is the old container's id. */
export function endpointOf(
  { Id }: ContainerInfo,
  { IPAMConfig, Aliases, ...rest }: Endpoint,
): Endpoint {
  const aliases = (Aliases ?? []).filter((alias) => !Id.startsWith(alias));
  return {
    IPAMConfig: IPAMConfig ?? null,
    Aliases: aliases,
    DriverOpts: rest["DriverOpts"] ?? null,
    Links: rest["Links"] ?? null,
  };
}
