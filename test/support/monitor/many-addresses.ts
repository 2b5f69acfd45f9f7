/**
 * Run as a program in a network of its own: a name server that says by TCP, for it is too much for UDP, that a name has
 * four thousand addresses. Prints how many of them a connection to one of our own ports would try, and the time to judge them.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { createReach } from "#kernel/reach.ts";

const most = 4_000;

function answer(query: Buffer, isWhole: boolean): Buffer {
  const end = query.indexOf(0, 12) + 5;
  const isA = query.readUInt16BE(end - 4) === 1;
  const count = isWhole && isA ? most : 0;
  const head = Buffer.from([...query.subarray(0, 2), isWhole ? 0x81 : 0x83, 0x80, 0, 1, 0, 0]);
  head.writeUInt16BE(count, 6);
  const records = Array.from({ length: count }, (_, at) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 203, 0, at >> 8, at & 255]),
  );
  return Buffer.concat([head, Buffer.alloc(4), query.subarray(12, end), ...records]);
}

const short = createSocket("udp4");
short.on("message", (query, { port, address }) => short.send(answer(query, false), port, address));
short.bind(53, "127.0.0.1");
const long = createServer((socket) => {
  let asked = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    asked = Buffer.concat([asked, Buffer.from(chunk)]);
    while (asked.length > 2 && asked.length >= 2 + asked.readUInt16BE(0)) {
      const length = asked.readUInt16BE(0);
      const whole = answer(asked.subarray(2, 2 + length), true);
      const size = Buffer.alloc(2);
      size.writeUInt16BE(whole.length);
      socket.write(Buffer.concat([size, whole]));
      asked = asked.subarray(2 + length);
    }
  });
});
await Promise.all([once(short, "listening"), once(long.listen(53, "127.0.0.1"), "listening")]);

const services = [{ name: "Postgres", host: "127.0.0.1", port: 5432 }];
const { resolve } = createReach({ services, closed: ["metadata", "loopback"] });
const found = await resolve("many.test", 5432);
// Again, without what is loaded once: how long this process computed.
const before = process.cpuUsage();
await resolve("many.test", 5432);
const { user, system } = process.cpuUsage(before);
const judgedMs = Math.round((user + system) / 1_000);
process.stdout.write(JSON.stringify({ found: found.length, judgedMs }));
process.exit();
