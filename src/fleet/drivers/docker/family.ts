/** The containers of one sentinel. Names and labels alone record a replacement, so any process can continue it. Pure. */
import type { ContainerInfo } from "./schemas.ts";

/** Labels of containers that we create. They cannot be changed afterwards. */
export const deployLabel = "vedette.deploy";
/** The image by the name that was ordered: `Config.Image` has no tag. */
export const imageLabel = "vedette.image";
/** The id of the container that it replaces: only that one is ever stopped or removed for it. */
export const replacesLabel = "vedette.replaces";
/** `false`: the container that it replaces did not run, and is not started again if this one fails. */
export const wasRunningLabel = "vedette.was-running";

/** The rest of the deploy's time once its image is there (ms). */
export const readyWithinLabel = "vedette.ready-within-ms";

const ofOneContainer = [deployLabel, imageLabel, replacesLabel, wasRunningLabel, readyWithinLabel];

/** True if a label is of the container that has it alone, and not of those that are made after it. */
export function isOfOneContainer(label: string): boolean {
  return ofOneContainer.includes(label);
}

/** Names beside the sentinel's own: the new container, the old, a failed one, and one whose old one is back. */
const suffixes = {
  next: ".next",
  previous: ".prev",
  failing: ".failing",
  failed: ".failed",
} as const;

export type Role = "current" | keyof typeof suffixes;

export type Members<Container> = Partial<Record<Role, Container>>;

export type Family = { name: string } & Members<ContainerInfo>;

/** The marks by which a container's sentinel is found. */
type Identity = { id: string; name: string; labels: Record<string, string> };

export function readName(name: string): { sentinel: string; role: Role } {
  for (const [role, suffix] of Object.entries(suffixes)) {
    if (name.endsWith(suffix) && name.length > suffix.length) {
      return { sentinel: name.slice(0, -suffix.length), role: role as Role };
    }
  }
  return { sentinel: name, role: "current" };
}

export function nameOf(sentinel: string, role: Role): string {
  return role === "current" ? sentinel : `${sentinel}${suffixes[role]}`;
}

/** Matches, as in Docker's filter, every name of a sentinel's family and of those with which it may be mixed up. */
export function familyPattern(sentinel: string): string {
  const base = readName(sentinel).sentinel.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return String.raw`^/?${base}(\.(next|prev|failing|failed))*$`;
}

/** By the sentinel's name. A container that has such a name by chance is a sentinel of its own. */
export function toFamilies<Container>(
  containers: readonly Container[],
  identify: (container: Container) => Identity,
): Map<string, Members<Container>> {
  const all = containers.map((container) => ({ container, ...identify(container) }));
  const names = new Set(all.map(({ name }) => name));
  const replaced = new Set(
    all.flatMap(({ labels }) => (deployLabel in labels ? [labels[replacesLabel]] : [])),
  );
  const isOfFamily = ({ id, labels }: Identity, sentinel: string, role: Role) =>
    role === "previous" ? replaced.has(id) || !names.has(sentinel) : deployLabel in labels;

  const families = new Map<string, Members<Container>>();
  for (const one of all) {
    const read = readName(one.name);
    const own = { sentinel: one.name, role: "current" as const };
    const { sentinel, role } = isOfFamily(one, read.sentinel, read.role) ? read : own;
    families.set(sentinel, { ...families.get(sentinel), [role]: one.container });
  }
  return families;
}

export function toFamily(name: string, containers: readonly ContainerInfo[]): Family {
  const identify = ({ Id, Name, Config }: ContainerInfo): Identity => ({
    id: Id,
    name: Name,
    labels: Config.Labels,
  });
  return { name, ...toFamilies(containers, identify).get(name) };
}

export function findOfDeploy(
  family: Family,
  deployId: string,
): { role: Role; container: ContainerInfo } | undefined {
  for (const role of ["current", "next", "failing", "failed"] as const) {
    const container = family[role];
    if (container?.Config.Labels[deployLabel] === deployId) return { role, container };
  }
  return undefined;
}

/** Whose replacement is unfinished; undefined: none is under way. `none`: the new one went while the old was aside. */
export function unfinishedDeploy({ current, next, previous, failing }: Family): string | undefined {
  const made = next ?? failing ?? (previous && current);
  if (made !== undefined) return made.Config.Labels[deployLabel];
  return previous?.State.Running === false ? noDeploy : undefined;
}

/** No deploy has this id. */
const noDeploy = "none";
