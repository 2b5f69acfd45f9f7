import { describe, expect, it } from "vitest";
import { fleetConfig } from "#fleet/config.ts";

const parse = (docker: object) => fleetConfig.fleet.parse({ driver: "docker", docker }).docker;

describe("fleet.docker.hosts", () => {
  it("is this machine's own socket where none is given", () => {
    expect(parse({}).hosts).toMatchObject([{ name: "local", url: "unix:///var/run/docker.sock" }]);
  });

  it("is read from one text, as the environment has it", () => {
    const hosts = "edge-1=ssh://deploy@edge-1.example.com, edge-2=tcp://10.0.0.2:2376";

    expect(parse({ hosts }).hosts).toMatchObject([
      { name: "edge-1", url: "ssh://deploy@edge-1.example.com", optional: false },
      { name: "edge-2", url: "tcp://10.0.0.2:2376", optional: false },
    ]);
  });

  it.each([
    ["without a name", "ssh://edge-1", /letters, digits/],
    ["of another kind", "a=ftp://edge-1", /must be unix:/],
    ["twice", "a=ssh://edge-1,a=ssh://edge-2", /different names/],
  ])("refuses one %s", (_, hosts, words) => {
    expect(() => parse({ hosts })).toThrow(words);
  });
});
