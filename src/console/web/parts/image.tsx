import { shortImage, splitImage } from "#console/web/format.ts";

/** The name of an image with its version in bold; the whole name on hover. */
export function Image({ image }: { image: string }) {
  // The sentinel runs nothing.
  if (image === "") return <span class="quiet">nothing</span>;
  const { place, name, version } = splitImage(image);
  return (
    <span class="image" title={image}>
      <span class="quiet">{place}</span>
      {name}
      <b>{version}</b>
    </span>
  );
}

/** The name without its registry; the whole name on hover. */
export function ShortImage({ image }: { image: string }) {
  return <span title={image}>{image === "" ? "nothing" : shortImage(image)}</span>;
}
