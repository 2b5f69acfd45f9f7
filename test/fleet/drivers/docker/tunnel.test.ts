import { describe, expect, it } from "vitest";
import { sshArguments } from "#fleet/drivers/docker/tunnel.ts";

const argumentsOf = (url: string) => {
  const all = sshArguments(url, "/tmp/a/docker.sock");
  const end = all.indexOf("--");
  return {
    forward: all[all.indexOf("-L") + 1],
    port: all[all.indexOf("-p") + 1],
    rest: all.slice(end),
  };
};

describe("sshArguments", () => {
  it("forwards the usual socket of a host", () => {
    expect(argumentsOf("ssh://edge-1")).toMatchObject({
      forward: "/tmp/a/docker.sock:/var/run/docker.sock",
      rest: ["--", "edge-1"],
    });
  });

  it("takes user, port and socket from the address", () => {
    expect(argumentsOf("ssh://deploy@[2001:db8::1]:2222/run/user/1000/docker.sock")).toEqual({
      forward: "/tmp/a/docker.sock:/run/user/1000/docker.sock",
      port: "2222",
      rest: ["--", "deploy@2001:db8::1"],
    });
  });

  it("never asks, and never takes a host for an option", () => {
    const all = sshArguments("ssh://-oProxyCommand=x@edge-1", "/s");

    expect(all).toContain("BatchMode=yes");
    expect(all.slice(all.indexOf("--"))).toEqual(["--", "-oProxyCommand=x@edge-1"]);
  });
});
