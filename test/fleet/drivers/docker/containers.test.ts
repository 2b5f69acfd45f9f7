import { expect, it } from "vitest";
import { createImages } from "#fleet/drivers/docker/containers.ts";
import { ContainerInfo, ImageInfo } from "#fleet/drivers/docker/schemas.ts";

const name = "registry.example.com/gw:v1";
const claimed = `registry.example.com/gw:v3@sha256:${"c".repeat(64)}`;
const labels = { "vedette.deploy": "d-1", "vedette.image": claimed };

const nameOf = (ofImage: Record<string, string>, ofContainer: Record<string, string>) => {
  const image = ImageInfo.parse({ Id: "sha256:1", RepoTags: [name], Config: { Labels: ofImage } });
  const container = ContainerInfo.parse({
    ...{ Id: "c1", Name: "/gw", Image: image.Id, State: { Status: "running", Running: true } },
    ...{ Config: { Image: name, Labels: { ...ofImage, ...ofContainer } }, HostConfig: {} },
    NetworkSettings: {},
  });
  return createImages({ readImage: async () => image }).nameOf(container);
};

it("an image that has the labels of a deploy itself is not believed to be another one", async () => {
  expect(await nameOf(labels, {})).toBe(name);
});

it("a container that a deploy has made of such an image has the name that was ordered", async () => {
  expect(await nameOf(labels, { ...labels, "vedette.deploy": "d-2" })).toBe(claimed);
});

it("a container that a deploy has made has the name that was ordered", async () => {
  expect(await nameOf({}, labels)).toBe(claimed);
});
