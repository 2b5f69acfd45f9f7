/** Remembers the sentinels' containers on one host, and describes how a list names them. */
import type { z } from "zod";
import { boundLabels, type ListedSentinel, UnreachableError } from "#fleet/drivers/driver.ts";
import {
  type Engine,
  type EngineRequest,
  expectGood,
  maxListBytes,
  parseAnswer,
} from "./engine.ts";
import {
  deployLabel,
  type Family,
  familyPattern,
  imageLabel,
  isOfOneContainer,
  type Members,
  readName,
  toFamilies,
  toFamily,
} from "./family.ts";
import { isListedWell } from "./judge.ts";
import { type ImageNames, orderedName, pinnedName } from "./reference.ts";
import { ContainerInfo, ContainerList, ImageInfo } from "./schemas.ts";

export type ListedContainer = z.infer<typeof ContainerList>[number];

/** Another process may rename them between the list and the looks at each. */
const mostReads = 10;

/** More than have a sentinel's name and those beside it: each is inspected. */
const mostMembers = 50;

/** Being removed, or left over from a removal that failed: its place is empty, so that the old one can come back. */
function hasLeft(name: string, state: string): boolean {
  return ["removing", "dead"].includes(state) && readName(name).role === "current";
}

export type Containers = ReturnType<typeof createContainers>;

/** `label`: as in Docker's filter, `name` or `name=value`. */
export function createContainers(engine: Engine, label: string) {
  const get = async (path: string, signal?: AbortSignal) =>
    engine.call({ method: "GET", path, signal });

  /** `maxBytes`: of the answer; absent: as many as of one container. */
  const list = async (filters: object, asked: Pick<EngineRequest, "maxBytes" | "signal">) => {
    const query = { all: "true", filters: JSON.stringify({ label: [label], ...filters }) };
    const answer = await engine.call({ method: "GET", path: "/containers/json", query, ...asked });
    const body = expectGood(answer, "listing containers", engine);
    // One that is being removed may have lost its name.
    const containers = parseAnswer(ContainerList, body, engine).filter(
      ({ Name, State }) => Name !== "" && !hasLeft(Name, State),
    );
    return { containers, nowMs: answer.nowMs };
  };

  const inspect = async (id: string, signal?: AbortSignal): Promise<ContainerInfo[]> => {
    const answer = await get(`/containers/${encodeURIComponent(id)}/json`, signal);
    if (answer.status === 404) return [];
    return [parseAnswer(ContainerInfo, expectGood(answer, "inspecting", engine), engine)];
  };

  return {
    list: async (signal?: AbortSignal) =>
      (await list({}, { signal, maxBytes: maxListBytes })).containers,

    /** Returns the family as it was at one moment. `nowMs`: by the engine's clock. */
    async readFamily(
      name: string,
      signal?: AbortSignal,
    ): Promise<{ family: Family; nowMs: number }> {
      for (let n = 0; n < mostReads; n++) {
        const { containers, nowMs } = await list({ name: [familyPattern(name)] }, { signal });
        if (containers.length > mostMembers) {
          throw new UnreachableError(`unreachable: ${containers.length} containers named ${name}`);
        }
        const found = await Promise.all(containers.map(({ Id }) => inspect(Id, signal)));
        const isSame = containers.every(({ Name }, index) => found[index]?.[0]?.Name === Name);
        const left = found.flat().filter(({ Name, State }) => !hasLeft(Name, State.Status));
        if (isSame) return { family: toFamily(name, left), nowMs };
      }
      throw new UnreachableError(`unreachable: ${name} changes all the time`);
    },

    /** undefined: it has been removed. */
    async readImage(id: string, signal?: AbortSignal): Promise<ImageInfo | undefined> {
      const answer = await get(`/images/${encodeURIComponent(id)}/json`, signal);
      if (answer.status === 404) return undefined;
      return parseAnswer(ImageInfo, expectGood(answer, "reading an image", engine), engine);
    },
  };
}

type Labels = Record<string, string>;

/** `deploy`: the label that only our containers should have. */
type NamedImage = ImageNames & { deploy: string | undefined };

type Running = { labels: Labels; image: string; imageId: string };

/** The names of more of them are not read. */
const mostImages = 500;

/** Names images for one call: an id stands for the same image for ever, but its tags do not. */
export function createImages({ readImage }: Pick<Containers, "readImage">, signal?: AbortSignal) {
  const images = new Map<string, Promise<NamedImage | undefined>>();

  const readNames = async (id: string): Promise<NamedImage | undefined> => {
    const info = await readImage(id, signal);
    if (info === undefined) return undefined;
    const { Labels: labels } = info.Config as { Labels?: Labels | null };
    const { Id, RepoTags, RepoDigests } = info;
    return { Id, RepoTags, RepoDigests, deploy: labels?.[deployLabel] };
  };

  const namesOf = (id: string): Promise<NamedImage | undefined> | undefined => {
    if (!images.has(id) && images.size < mostImages) images.set(id, readNames(id));
    return images.get(id);
  };

  /** The image as it was ordered; of a container that somebody else made, as it was asked for. */
  const nameOf = async ({ labels, image, imageId }: Running) => {
    const info = await namesOf(imageId);
    // An image may have the labels itself: of its container that somebody else made they say nothing.
    const isOurs = deployLabel in labels && labels[deployLabel] !== info?.deploy;
    const ordered = isOurs ? labels[imageLabel] : undefined;
    if (info === undefined) return ordered ?? image;
    return ordered === undefined ? pinnedName(image, info) : orderedName(ordered, info);
  };

  return {
    read: (id: string) => readImage(id, signal),
    nameOf: ({ Config, Image }: ContainerInfo) =>
      nameOf({ labels: Config.Labels, image: Config.Image, imageId: Image }),
    nameOfListed: ({ Labels: labels, Image, ImageID }: ListedContainer) =>
      nameOf({ labels, image: Image, imageId: ImageID }),
  };
}

/** `region`: of sentinels that name none. */
export type HostNames = { name: string; region: string };

export function groupListed(containers: readonly ListedContainer[]) {
  return toFamilies(containers, ({ Id, Name, Labels }) => ({ id: Id, name: Name, labels: Labels }));
}

export async function toListed(
  host: HostNames,
  { current, previous, next, name }: Members<ListedContainer> & { name: string },
  nameImage: (container: ListedContainer) => Promise<string>,
): Promise<ListedSentinel[]> {
  const serving = current ?? previous;
  if (serving === undefined) return [];
  const running = await nameImage(serving);
  return [
    {
      id: `${host.name}/${name}`,
      region: serving.Labels["vedette.region"] ?? host.region,
      image: next?.Labels[imageLabel] ?? running,
      running_image: running,
      healthy: isListedWell(serving),
      labels: boundLabels({ ...ownLabels(serving.Labels), host: host.name }),
    },
  ];
}

/** Without those of tools and of replacements. */
function ownLabels(labels: Labels): Labels {
  const isOwn = ([name]: [string, string]) =>
    !isOfOneContainer(name) && !/^(com\.docker|org\.opencontainers|desktop\.docker)/.test(name);
  return Object.fromEntries(Object.entries(labels).filter(isOwn));
}
