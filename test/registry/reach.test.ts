import { expect, it } from "vitest";
import { createReach, isClosed } from "#registry/reach.ts";

const limits = { timeoutMs: 1_000, largestAnswer: 1_000 };

it.each([
  "127.0.0.1",
  "127.255.1.2",
  "0.0.0.0",
  "169.254.169.254",
  "255.255.255.255",
  "224.0.0.1",
  "100.100.100.200",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "fe80::1",
  "fe80::1%eth0",
  "fd00:ec2::254",
  "64:ff9b::7f00:1",
  "64:ff9b:1::7f00:1",
  "::127.0.0.1",
  "::ffff:0:127.0.0.1",
  "2002:7f00:1::",
  "2002:a9fe:a9fe::1",
  "fd20:ce::254",
  "fd00:42::42",
  "fd00:ec2::23",
])("does not connect to %s", (address) => {
  expect(isClosed(address)).toBe(true);
});

it.each(["10.0.0.1", "192.168.1.1", "93.184.216.34", "2606:2800::1", "64:ff9b::5db8:d822", "a.b"])(
  "connects to %s",
  (address) => {
    expect(isClosed(address)).toBe(false);
  },
);

it.each([
  "http://127.0.0.1:9470/",
  "http://2130706433:9470/",
  "http://0x7f.1/",
  "http://[::1]:80/",
  "http://[::ffff:7f00:1]/",
  "http://169.254.169.254/latest/meta-data/",
])("refuses %s however it is written", (address) => {
  const reach = createReach([], limits);

  expect(() => reach.dispatcherFor(new URL(address))).toThrow("loopback, link-local");
});

it("connects to a host of this machine at the port that the settings name", () => {
  const reach = createReach(["127.0.0.1:5000", "[::1]"], limits);

  expect(() => reach.dispatcherFor(new URL("http://127.0.0.1:5000/"))).not.toThrow();
  expect(() => reach.dispatcherFor(new URL("http://[::1]:6000/"))).not.toThrow();
  expect(() => reach.dispatcherFor(new URL("http://127.0.0.1:5001/"))).toThrow(
    "loopback, link-local",
  );
});
