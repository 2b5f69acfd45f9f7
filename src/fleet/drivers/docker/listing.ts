/** The sentinels of one host, as a list names them. */
import type { ListedSentinel } from "#fleet/drivers/driver.ts";
import { boundLabels } from "#fleet/labels.ts";
import type { Containers, ListedContainer } from "./containers.ts";
import { deployLabel, imageLabel, isOfOneContainer, type Members, toFamilies } from "./family.ts";
import { isListedWell } from "./judge.ts";
import { type ImageNames, orderedName, pinnedName } from "./reference.ts";
import type { ContainerInfo } from "./schemas.ts";

type Labels = Record<string, string>;

type Running = { labels: Labels; image: string; imageId: string };

/** The names of more of them are not read. */
const mostImages = 500;

/** For one call: an id stands for the same image for ever, but its tags do not. */
export function createImages({ readImage }: Pick<Containers, "readImage">, signal?: AbortSignal) {
  const images = new Map<string, Promise<ImageNames | undefined>>();

  const readNames = async (id: string): Promise<ImageNames | undefined> => {
    const info = await readImage(id, signal);
    return info && { Id: info.Id, RepoTags: info.RepoTags, RepoDigests: info.RepoDigests };
  };

  const namesOf = (id: string): Promise<ImageNames | undefined> | undefined => {
    if (!images.has(id) && images.size < mostImages) images.set(id, readNames(id));
    return images.get(id);
  };

  /** The image as it was ordered; of a container that somebody else made, as it was asked for. */
  const nameOf = async ({ labels, image, imageId }: Running) => {
    const ordered = deployLabel in labels ? labels[imageLabel] : undefined;
    const info = await namesOf(imageId);
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
