import { describe, expect, it } from "vitest";
import { endToEnd } from "#sentinel/headers.ts";

describe("endToEnd", () => {
  it("drops the headers that belong to one connection", () => {
    const headers = { connection: "keep-alive", "keep-alive": "1", te: "trailers", accept: "*/*" };

    expect(endToEnd(headers)).toEqual({ accept: "*/*" });
  });

  it("drops headers that Connection names", () => {
    const headers = { connection: "close, X-Private", "x-private": "1", "x-public": "2" };

    expect(endToEnd(headers)).toEqual({ "x-public": "2" });
  });
});
