/** The next step of a replacement by what is there, after any kill. Calls go by id: a name may move. Pure. */
import { endpointOf } from "./create-body.ts";
import { type Family, findOfDeploy, nameOf, replacesLabel, wasRunningLabel } from "./family.ts";
import type { Verdict } from "./judge.ts";
import type { ContainerInfo, Endpoint, RestartPolicy } from "./schemas.ts";

export type Step =
  | { do: "start" | "stop" | "remove"; id: string }
  | { do: "rename"; id: string; name: string }
  | { do: "restart-policy"; id: string; policy: RestartPolicy }
  | { do: "connect"; id: string; network: string; endpoint: Endpoint }
  /** Look again later. */
  | { do: "wait" }
  /** Ready, or failed with everything as it was. */
  | { do: "nothing" };

const nothing: Step = { do: "nothing" };

/** `verdict`: on the container of this deploy. */
export function planStep(family: Family, deployId: string, verdict: Verdict): Step {
  const made = findOfDeploy(family, deployId);
  if (made === undefined) return restoreOrphan(family);
  const { role, container } = made;
  if (role === "failed") return restoreBoth(family, container) ?? nothing;
  if (role === "failing") return planReturn(family, container);
  if (role === "next") return planSwap(family, container, verdict);
  return planWatch(family, container, verdict);
}

/** True if both may run at once, so that there is no time without one. */
export function canOverlap({ Config, HostConfig, NetworkSettings }: ContainerInfo): boolean {
  if (Config.Labels[replaceLabel] === "stop-first") return false;
  if (HostConfig.NetworkMode === "host") return false;
  if (hasFixedPort(HostConfig["PortBindings"])) return false;
  return !Object.values(NetworkSettings.Networks).some(hasFixedAddress);
}

const replaceLabel = "vedette.replace";

function hasFixedPort(bindings: unknown): boolean {
  const lists = Object.values((bindings ?? {}) as Record<string, unknown>);
  return lists
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .some((one: { HostPort?: string } | null) => !["", "0", undefined].includes(one?.HostPort));
}

function hasFixedAddress({ IPAMConfig: config }: Endpoint): boolean {
  return Boolean(config?.IPv4Address || config?.IPv6Address);
}

/** Somebody has removed the new container while the old one was aside. */
function restoreOrphan({ name, current, previous }: Family): Step {
  if (previous === undefined || current !== undefined) return nothing;
  if (!previous.State.Running) return { do: "start", id: previous.Id };
  return { do: "rename", id: previous.Id, name };
}

/** The new container has its networks, and the old one is in its place. */
function planSwap(family: Family, made: ContainerInfo, verdict: Verdict): Step {
  const { current: old, previous, name } = family;
  // Somebody has put another one in its place: that one stays.
  const isOther = old !== undefined && old.Id !== replacedBy(made);
  if (isOther || (verdict.status === "failed" && old !== undefined)) return giveUp(family, made);
  const connected = connectNext(made, old ?? previous);
  if (connected !== undefined) return connected;
  if (old === undefined) return { do: "rename", id: made.Id, name };
  if (!canOverlap(made)) return stepAside(family, old);
  if (isNew(made)) return { do: "start", id: made.Id };
  return verdict.status === "ready" ? stepAside(family, old) : { do: "wait" };
}

/** The old container ends, also over a restart of its engine, and leaves its name to the new one. */
function stepAside({ name }: Family, old: ContainerInfo): Step {
  if (returnsByItself(old.HostConfig.RestartPolicy)) {
    return { do: "restart-policy", id: old.Id, policy: onlyUnlessStopped };
  }
  if (old.State.Running) return { do: "stop", id: old.Id };
  return { do: "rename", id: old.Id, name: nameOf(name, "previous") };
}

const onlyUnlessStopped: RestartPolicy = { Name: "unless-stopped", MaximumRetryCount: 0 };
const never: RestartPolicy = { Name: "no", MaximumRetryCount: 0 };

/** True if an engine starts it again, although it was stopped by hand, when the engine itself starts. */
function returnsByItself({ Name: name }: RestartPolicy): boolean {
  return name === "always" || name === "on-failure";
}

function connectNext(made: ContainerInfo, old: ContainerInfo | undefined): Step | undefined {
  if (old === undefined || !isNew(made)) return undefined;
  const has = made.NetworkSettings.Networks;
  const missing = Object.entries(old.NetworkSettings.Networks).find(([name]) => !(name in has));
  if (missing === undefined) return undefined;
  const [network, endpoint] = missing;
  return { do: "connect", id: made.Id, network, endpoint: endpointOf(old, endpoint) };
}

/** The new container has the sentinel's name. */
function planWatch(family: Family, made: ContainerInfo, verdict: Verdict): Step {
  const { previous } = family;
  if (verdict.status === "failed") return previous === undefined ? nothing : giveUp(family, made);
  if (isNew(made)) return { do: "start", id: made.Id };
  if (verdict.status === "starting") return { do: "wait" };
  return previous?.Id === replacedBy(made) && previous !== undefined
    ? { do: "remove", id: previous.Id }
    : nothing;
}

function replacedBy({ Config: { Labels: labels } }: ContainerInfo): string | undefined {
  return labels[replacesLabel];
}

function giveUp({ name }: Family, made: ContainerInfo): Step {
  if (made.State.Running) return { do: "stop", id: made.Id };
  return { do: "rename", id: made.Id, name: nameOf(name, "failing") };
}

/** The new container has failed and is aside: the old one comes back as it was. */
function planReturn(family: Family, made: ContainerInfo): Step {
  const { name, current, previous, failed } = family;
  if (current === undefined && previous === undefined) return keepMade(name, made);
  if (made.State.Running) return { do: "stop", id: made.Id };
  if (current === undefined && previous !== undefined) {
    return { do: "rename", id: previous.Id, name };
  }
  const step = restoreBoth(family, made);
  if (step !== undefined) return step;
  if (failed?.State.Running) return { do: "stop", id: failed.Id };
  if (failed !== undefined) return { do: "remove", id: failed.Id };
  return { do: "rename", id: made.Id, name: nameOf(name, "failed") };
}

/** Another process has found it good just before it failed, and removed the old one. */
function keepMade(name: string, made: ContainerInfo): Step {
  return made.State.Running ? { do: "rename", id: made.Id, name } : { do: "start", id: made.Id };
}

/** Also after the end: another process may have carried out late what it had decided before. */
function restoreBoth({ current }: Family, made: ContainerInfo): Step | undefined {
  if (made.State.Running) return { do: "stop", id: made.Id };
  const isOld = current?.Id === replacedBy(made);
  const restored = isOld && current !== undefined ? restore(current, made) : undefined;
  if (restored !== undefined) return restored;
  if (isNever(made.HostConfig.RestartPolicy)) return undefined;
  return { do: "restart-policy", id: made.Id, policy: never };
}

/** The new one was made with the restart policy that the old one had. */
function restore(old: ContainerInfo, made: ContainerInfo): Step | undefined {
  const wasRunning = made.Config.Labels[wasRunningLabel] !== "false";
  if (wasRunning && !old.State.Running) return { do: "start", id: old.Id };
  const { RestartPolicy: policy } = made.HostConfig;
  const isAsBefore = policy.Name === old.HostConfig.RestartPolicy.Name;
  return isNever(policy) || isAsBefore ? undefined : { do: "restart-policy", id: old.Id, policy };
}

function isNever({ Name: name }: RestartPolicy): boolean {
  return name === "" || name === "no";
}

function isNew({ State: { Status: status } }: ContainerInfo): boolean {
  return status === "created";
}
