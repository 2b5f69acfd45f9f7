import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createReach, describeClosed, seenFromElsewhere, serviceAt } from "#kernel/reach.ts";

/** IPv4 ranges: what is closed in each, and for whom. */
const closedToAll = [
  "0.1.0.0/16",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "255.255.255.255/32",
  "100.100.100.200/32",
  "192.0.0.192/32",
  "168.63.129.16/32",
];
const privateToo = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"];
/** Of IANA's registry of special-purpose addresses, and not of the internet. */
const special = [
  ...["192.0.0.0/25", "198.18.0.0/15", "192.88.99.0/24"],
  ...["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"],
];

const addressIn = (range: string) => {
  const [address = "", bits] = range.split("/");
  const first = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  return fc.integer({ min: first, max: first + 2 ** (32 - Number(bits)) - 1 });
};
const inAny = (ranges: readonly string[]) => fc.oneof(...ranges.map(addressIn));

const dotted = (ip: number) => [24, 16, 8, 0].map((shift) => (ip >>> shift) & 255).join(".");
const hex = (ip: number) => `${(ip >>> 16).toString(16)}:${(ip & 0xffff).toString(16)}`;

const forms: Record<string, (ip: number) => string> = {
  IPv4: dotted,
  "an IPv4-mapped": (ip) => `::ffff:${dotted(ip)}`,
  "an IPv4-mapped in hex": (ip) => `0:0:0:0:0:ffff:${hex(ip)}`,
  "a NAT64": (ip) => `64:ff9b::${hex(ip)}`,
  "a 6to4": (ip) => `2002:${hex(ip)}::1`,
};
const obsolete: Record<string, (ip: number) => string> = {
  "an IPv4-compatible": (ip) => `::${hex(ip)}`,
  "an IPv4-translated": (ip) => `::ffff:0:${hex(ip)}`,
  "a local NAT64": (ip) => `64:ff9b:1::${hex(ip)}`,
};

describe("the addresses that are closed to everybody", () => {
  it.each(Object.entries({ ...forms, ...obsolete }))("include %s form of each", (_, write) => {
    fc.assert(
      fc.property(inAny(closedToAll), (ip) => {
        expect(describeClosed(write(ip), ["metadata"])).toBe("a link-local or metadata address");
      }),
    );
  });

  it.each([
    ...["fe80::1", "fe80::a9fe:a9fe", "febf::1", "ff02::1", "2001:0:1::1"],
    ...["fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"],
    ...["fd00:c1::a9fe:a9fe", "fd00:a9fe:a9fe::1", "fd00:100::100:200"],
    ...["64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "::127.0.0.1", "::2"],
  ])("include %s", (address) => {
    expect(describeClosed(address, ["metadata"])).toBe("a link-local or metadata address");
  });

  it.each([
    ...["93.184.216.34", "8.8.8.8", "223.255.255.255", "169.253.255.255", "169.255.0.0"],
    ...["2606:2800::1", "64:ff9b::5db8:d822", "2002:5db8:d822::1", "2001:4860::8888", "fd12::1"],
    ...["10.0.0.1", "192.168.1.1", "127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "a.b"],
  ])("do not include %s", (address) => {
    expect(describeClosed(address, ["metadata"])).toBeUndefined();
  });
});

describe("private networks", () => {
  it.each(Object.entries(forms))("include %s form of each address", (_, write) => {
    fc.assert(
      fc.property(inAny(privateToo), (ip) => {
        expect(describeClosed(write(ip), ["private"])).toBe("of a private network");
      }),
    );
  });

  it.each(Object.entries(forms))("include %s form of each special-purpose one", (_, write) => {
    fc.assert(
      fc.property(inAny(special), (ip) => {
        expect(describeClosed(write(ip), ["private"])).toBe("of a private network");
      }),
    );
  });

  it.each([
    ...["2001:2::1", "2001:10::1", "2001:1ff:ffff::1", "2001:db8::1", "3fff:fff::1"],
    ...["100::1", "100:0:0:1::1", "5f00::1"],
  ])("include the special-purpose %s", (address) => {
    expect(describeClosed(address, ["private"])).toBe("of a private network");
  });

  it.each([
    ...["191.255.255.255", "192.0.1.1", "198.17.255.255", "198.20.0.0", "192.88.98.1", "1.1.1.1"],
    ...["2001:200::1", "2001:4860:4860::8888", "2001:db9::1", "4000::1", "100:0:0:2::1"],
  ])("do not include %s beside them", (address) => {
    expect(describeClosed(address, ["metadata", "private"])).toBeUndefined();
  });

  it.each(["fc00::1", "fdff::1", "fec0::1"])("include %s", (address) => {
    expect(describeClosed(address, ["private"])).toBe("of a private network");
  });
});

it.each(["127.0.0.1", "127.255.1.2", "::1", "::", "0.0.0.0", "::ffff:7f00:1"])(
  "%s is of loopback",
  (address) => {
    expect(describeClosed(address, ["loopback"])).toBe("of loopback");
  },
);

describe("a host", () => {
  it.each([
    ...["169.254.169.254", "[fe80::1]", "fe80::1%eth0", "fe80::1%1", "[::ffff:a9fe:a9fe]"],
    // As the system's resolver reads them; a URL has the usual form already.
    ...["2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.16689662"],
  ])("written %s has a closed address", async (host) => {
    await expect(createReach().resolve(host, 80)).rejects.toThrow(
      "the address is a link-local or metadata address, to which we do not connect",
    );
  });

  it("is resolved to all its addresses", async () => {
    const found = await createReach().resolve("localhost", 80);

    expect(found.map(({ address }) => address)).toContain("127.0.0.1");
  });

  it("on loopback is open at the port that is named, and closed at others", async () => {
    const reach = createReach({
      closed: ["metadata", "loopback", "private"],
      named: () => ["127.0.0.1:7070", "[::1]"],
    });

    await expect(reach.resolve("127.0.0.1", 7070)).resolves.toHaveLength(1);
    await expect(reach.resolve("[::1]", 6000)).resolves.toHaveLength(1);
    await expect(reach.resolve("127.0.0.1", 7000)).rejects.toThrow("the address is of loopback");
    await expect(reach.resolve("10.1.2.3", 7070)).rejects.toThrow("of a private network");
  });
});

it("a name that is open for private networks does not lead to a metadata service", async () => {
  const reach = createReach({ closed: ["metadata", "private"], named: () => ["2852039166"] });

  await expect(reach.resolve("2852039166", 80)).rejects.toThrow("a link-local or metadata address");
});

describe("a service of this installation", () => {
  const own = (host: string) => createReach({ services: [{ name: "Restate", host, port: 8080 }] });

  it.each([
    ...["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "::", "127.8.9.10", "2130706433"],
    ...["0x7f.1", "::ffff:127.0.0.1", "LOCALHOST"],
  ])("on this machine is not reached by %s", async (host) => {
    await expect(own("127.0.0.1").resolve(host, 8080)).rejects.toThrow(
      "the address is one of Vedette's own services (Restate), to which we do not connect",
    );
  });

  it.each(["localhost", "0.0.0.0", "::", "::1"])(
    "that is at %s is not reached by loopback",
    async (host) => {
      await expect(own(host).resolve("127.0.0.1", 8080)).rejects.toThrow("own services");
    },
  );

  it.each(["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "2002:a01:203::1"])(
    "at 10.1.2.3 is not reached by %s",
    async (address) => {
      await expect(own("10.1.2.3").resolve(address, 8080)).rejects.toThrow("own services");
    },
  );

  it("leaves other ports, and its port at other addresses, to checks", async () => {
    await expect(own("127.0.0.1").resolve("127.0.0.1", 8081)).resolves.toHaveLength(1);
    await expect(own("127.0.0.1").resolve("10.1.2.3", 8080)).resolves.toHaveLength(1);
    await expect(own("10.1.2.3").resolve("127.0.0.1", 8080)).resolves.toHaveLength(1);
  });

  it.each([
    ["http://restate.example.com:8080/a", [{ name: "A", host: "restate.example.com", port: 8080 }]],
    ["https://[2001:db8::1]", [{ name: "A", host: "2001:db8::1", port: 443 }]],
    ["rediss://user:word@redis", [{ name: "A", host: "redis", port: 6379 }]],
    ["http+unix://%2Ftmp%2Fa.sock", []],
    ["unix:///var/run/docker.sock", []],
    ["ssh://user@host", []],
    ["http://127.0.0.1:0", []],
    ["", []],
  ])("at %s has this address", (url, services) => {
    expect(serviceAt("A", url)).toEqual(services);
  });
});

describe("a service that listens at all addresses of another machine", () => {
  const service = { name: "worker", host: "0.0.0.0", port: 8080 };

  it("is known here by the host at which that machine is known", async () => {
    const reach = createReach({ services: seenFromElsewhere([service], "203.0.113.7") });

    await expect(
      createReach({ services: [service] }).resolve("203.0.113.7", 8080),
    ).resolves.toHaveLength(1);
    await expect(reach.resolve("203.0.113.7", 8080)).rejects.toThrow("own services (worker)");
  });

  it("is known there by the addresses of this machine, but loopback", () => {
    const hosts = seenFromElsewhere([{ ...service, host: "::" }]).map(({ host }) => host);

    expect(hosts[0]).toBe("::");
    expect(hosts).not.toContain("127.0.0.1");
  });

  it("has no other address if it listens on loopback or at one address", () => {
    const services = ["127.0.0.1", "localhost", "10.1.2.3"].map((host) => ({ ...service, host }));

    expect(seenFromElsewhere(services, "203.0.113.7")).toEqual(services);
  });
});
