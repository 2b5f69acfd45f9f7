/** Where a secret may go. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { maskSecrets } from "#kernel/log.ts";
import {
  catchMisdirected,
  createReadSecret,
  findFaultyHosts,
  hostIn,
  requireMeant,
} from "#kernel/secrets.ts";
import { tempDir } from "../support/temp-dir.ts";

const goes = (hosts: string | undefined, address: string) => () =>
  requireMeant([{ name: "TOKEN", hosts }], { address: new URL(address), shown: hostIn(address) });

describe("a secret with a list of hosts", () => {
  it.each([
    ["shop.example.com", "https://shop.example.com/a"],
    ["shop.example.com", "http://shop.example.com:8080/"],
    ["shop.example.com:443", "https://shop.example.com/"],
    ["shop.example.com:8443", "https://shop.example.com:8443/"],
    ["a.example, shop.example.com\nb.example", "https://shop.example.com/"],
    ["SHOP.example.com.", "https://shop.Example.com/"],
    ["shop.example.com", "https://shop.example.com./"],
    ["münchen.example", "https://xn--mnchen-3ya.example/"],
    ["xn--mnchen-3ya.example", "https://MÜNCHEN.example/"],
    ["[2001:DB8::1]", "https://[2001:db8:0::1]/"],
    ["[2001:db8::1]:8443", "https://[2001:db8::1]:8443/"],
    ["127.0.0.1", "http://0x7f.1/"],
    ["db.example.com:5432", "tcp://db.example.com:5432"],
    ["mail.example.com:587", "smtp://Mail.Example.com"],
    ["mail.example.com:465", "smtps://mail.example.com"],
  ])("%s lets it go to %s", (hosts, address) => {
    expect(goes(hosts, address)).not.toThrow();
  });

  it.each([
    ["shop.example.com", "https://evil.example/"],
    ["shop.example.com", "https://shop.example.com.evil.example/"],
    ["shop.example.com", "https://evilshop.example.com/"],
    ["example.com", "https://shop.example.com/"],
    ["shop.example.com:443", "http://shop.example.com/"],
    ["shop.example.com:443", "https://shop.example.com:8443/"],
    ["shop.example.com", "https://shop.example.com@evil.example/"],
    ["shop.example.com", "https://evil.example/?shop.example.com"],
    ["shop.example.com", "https://evil.example\\@shop.example.com/"],
    ["db.example.com:5432", "tcp://db.example.com:5433"],
    ["mail.example.com:587", "smtps://mail.example.com"],
    ["[2001:db8::1]", "https://[2001:db8::2]/"],
    ["shop.example.com", "https://shop.example.com../"],
  ])("%s does not let it go to %s", (hosts, address) => {
    expect(goes(hosts, address)).toThrow(/\{\{TOKEN\}\} may not go to/);
  });

  it.each([
    "*.example.com",
    "https://shop.example.com",
    "shop.example.com/",
    "shop.example.com:65536",
    "shop.example.com:https",
    "user@shop.example.com",
    "2001:db8::1",
    "[shop.example.com]",
    ".example.com",
    "shop..example.com",
    "{{HOST}}",
    "shop%2eexample.com",
    "a\\b",
  ])("does not take %s for a host, and goes nowhere", (entry) => {
    const hosts = `shop.example.com ${entry}`;

    expect(goes(hosts, "https://shop.example.com/")).toThrow(
      "VEDETTE_SECRET_TOKEN_HOSTS: entry 2 is no host such as",
    );
  });

  it("is refused with the setting that is to be changed", () => {
    expect(goes("a.example", "https://evil.example:8443/x")).toThrow(
      "{{TOKEN}} may not go to evil.example:8443: if it is meant for that host, add it to VEDETTE_SECRET_TOKEN_HOSTS",
    );
  });
});

it("a secret without a list goes nowhere, not even to this machine", () => {
  expect(goes(undefined, "http://127.0.0.1:8080/")).toThrow(
    "{{TOKEN}} may not go to 127.0.0.1:8080: if it is meant for that host, set VEDETTE_SECRET_TOKEN_HOSTS to 127.0.0.1:8080",
  );
});

it("the mask of logs and reasons leaves what has to be set for a secret", () => {
  const { message } = catchMisdirected(goes(undefined, "http://shop.example.com:8080/")) as Error;

  expect(maskSecrets(message)).toBe(message);
});

describe.each(["KEY", "ROOT_KEY"])("{{%s}}", (name) => {
  const sent = (address: string, baseUrl?: string) => () =>
    requireMeant([{ name, hosts: "evil.example" }], {
      address: new URL(address),
      shown: hostIn(address),
      ...(baseUrl !== undefined && { baseUrl }),
    });

  it.each([
    ["https://api.example.com/v2/liveness", "https://api.example.com"],
    ["https://api.example.com:443/v2/", "https://api.example.com"],
    ["https://api.example.com./v2/", "https://API.example.com"],
    ["https://api.example.com/vedette/v2", "https://api.example.com/vedette"],
    ["https://api.example.com/vedette", "https://api.example.com/vedette"],
    ["http://[::1]:7070/v2", "http://[::1]:7070"],
  ])("goes to %s below %s", (address, baseUrl) => {
    expect(sent(address, baseUrl)).not.toThrow();
  });

  it.each([
    ["https://evil.example/", "https://api.example.com"],
    ["http://api.example.com/", "https://api.example.com"],
    ["https://api.example.com:8443/", "https://api.example.com"],
    ["https://key.api.example.com/", "https://api.example.com"],
    ["https://api.example.com@evil.example/", "https://api.example.com"],
    ["https://api.example.com/other", "https://api.example.com/vedette"],
    ["https://api.example.com/vedette2", "https://api.example.com/vedette"],
    ["https://api.example.com/vedette/../other", "https://api.example.com/vedette"],
    ["https://api.example.com/vedette/%2e%2e/other", "https://api.example.com/vedette"],
    ["https://api.example.com/vedette/..%2fother", "https://api.example.com/vedette"],
    ["https://api.example.com/vedette/..;/other", "https://api.example.com/vedette"],
    ["https://api.example.com/v2", undefined],
    ["tcp://api.example.com:443", "https://api.example.com"],
  ])("does not go to %s from %s, whatever its list says", (address, baseUrl) => {
    expect(sent(address, baseUrl)).toThrow(`{{${name}}} goes only below monitor.base_url`);
  });
});

describe("the list of a secret", () => {
  const beside = (files: Record<string, string>) => {
    const directory = tempDir();
    for (const [name, text] of Object.entries(files))
      writeFileSync(path.join(directory, name), text);
    return directory;
  };

  it("is that of the environment", () => {
    const environment = { VEDETTE_SECRET_A: "a", VEDETTE_SECRET_A_HOSTS: "a.example" };

    expect(createReadSecret({}, "", environment)("A")?.bindings).toEqual([
      { name: "A", hosts: "a.example" },
    ]);
  });

  it("is the file beside the one that the environment names", () => {
    const directory = beside({ token: "a", token_HOSTS: "a.example\n" });
    const environment = { VEDETTE_SECRET_A_FILE: path.join(directory, "token") };

    expect(createReadSecret({}, "", environment)("A")?.bindings).toEqual([
      { name: "A", hosts: "a.example" },
    ]);
  });

  it("is the file beside the one in the directory, read at each use", () => {
    const directory = beside({ A: "a", A_HOSTS: "a.example" });
    const read = createReadSecret({}, directory, {});
    writeFileSync(path.join(directory, "A_HOSTS"), "b.example");

    expect(read("A")?.bindings).toEqual([{ name: "A", hosts: "b.example" }]);
  });

  it("is no secret itself", () => {
    const read = createReadSecret({}, beside({ A_HOSTS: "a.example" }), {
      VEDETTE_SECRET_B_HOSTS: "b.example",
    });

    expect([read("A_HOSTS"), read("B_HOSTS")]).toEqual([undefined, undefined]);
  });

  it("has its faults named, by entry and not by text, wherever it is", () => {
    const directory = beside({ token_HOSTS: "hunter2:x", C_HOSTS: "https://c.example" });
    const environment = {
      VEDETTE_SECRET_A_HOSTS: "a.example, *.example",
      VEDETTE_SECRET_B_FILE: path.join(directory, "token"),
      VEDETTE_SECRET_GOOD_HOSTS: "good.example",
    };

    const faults = findFaultyHosts(directory, environment);

    expect(faults.map((line) => line.slice(0, line.indexOf(" is")))).toEqual([
      "VEDETTE_SECRET_A_HOSTS: entry 2",
      "VEDETTE_SECRET_B_HOSTS: entry 1",
      "VEDETTE_SECRET_C_HOSTS: entry 1",
    ]);
    expect(faults.join()).not.toContain("hunter2");
  });
});
