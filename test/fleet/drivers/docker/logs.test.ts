import { describe, expect, it } from "vitest";
import { payloadsOf } from "#fleet/drivers/docker/logs.ts";

function frame(text: string, stream = 1): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

async function* inParts(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, size = bytes.length): Promise<string> {
  const payloads: Buffer[] = [];
  for await (const payload of payloadsOf(inParts(bytes, size))) payloads.push(payload);
  return Buffer.concat(payloads).toString();
}

describe("payloadsOf", () => {
  const two = Buffer.concat([frame("first\n"), frame("", 2), frame("sécond\n", 2)]);

  it.each([1, 2, 3, 7, 8, 9, 100])(
    "is the same however it arrives, here %i bytes at once",
    async (size) => {
      expect(await read(two, size)).toBe("first\nsécond\n");
    },
  );

  it("takes what there is of a frame that was cut", async () => {
    expect(await read(two.subarray(0, two.length - 3))).toBe("first\nséco");
    expect(await read(two.subarray(0, 17))).toBe("first\n");
  });

  it("takes a frame that says that it is larger than anything for what came of it", async () => {
    const endless = Buffer.concat([
      Buffer.from([1, 0, 0, 0, 255, 255, 255, 255]),
      Buffer.from("x"),
    ]);

    expect(await read(endless)).toBe("x");
  });
});
