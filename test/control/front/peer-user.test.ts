import { expect, it } from "vitest";
import { ownerOf } from "#control/front/peer-user.ts";

const ends = {
  remoteAddress: "127.0.0.1",
  remotePort: 0xabcd,
  localAddress: "127.0.0.1",
  localPort: 0x2120,
};

const row = (local: string, remote: string, { state = "01", uid = 1000, inode = 77 } = {}) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000 20 4 0 10 -1`;

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid";
const us = row("0100007F:2120", "0100007F:ABCD", { uid: 1 });
const other = row("0100007F:ABCE", "0100007F:2120", { uid: 2 });
const theirs = "0100007F:ABCD";
const ours = "0100007F:2120";

it("finds the owner of the other end", () => {
  expect(ownerOf(ends, [[head, us, other, row(theirs, ours)].join("\n")])).toBe(1000);
});

it("finds the owner of a connection with IPv4 over an IPv6 socket", () => {
  const mapped = "0000000000000000FFFF0000";

  expect(ownerOf(ends, [head, row(`${mapped}${theirs}`, `${mapped}${ours}`)])).toBe(1000);
});

it.each([
  ["closed by its owner", { state: "04", uid: 0 }],
  ["left behind by its owner", { inode: 0, uid: 0 }],
])("finds no owner for an end that is %s", (_how, entry) => {
  expect(ownerOf(ends, [row(theirs, ours, entry)])).toBeUndefined();
});

it("finds no owner for a connection that is not in the tables", () => {
  expect(ownerOf(ends, [head, us, other])).toBeUndefined();
  expect(ownerOf({ ...ends, remoteAddress: "::1" }, [row(theirs, ours)])).toBeUndefined();
});
