/** Tokens of a service that gives unusual values and lifetimes. */
import { afterEach, expect, it, vi } from "vitest";
import { startFakeRegistry } from "../../support/servers/fake-registry.ts";
import { createPinImage } from "../../support/servers/image-gate.ts";

const settings = { allowed: [], insecure: ["127.0.0.1"], token_hosts: [], docker_config: "" };
const digest = `sha256:${"ab".repeat(32)}`;
const found = { status: 200, headers: { "docker-content-digest": digest } };
const unavailable = expect.objectContaining({ code: "registry_unavailable", status: 503 });

afterEach(() => {
  vi.useRealTimers();
});

/** A registry that accepts any token, and a token service that answers so. */
async function startGate(answer: object) {
  const tokens = await startFakeRegistry(() => ({ status: 200, body: JSON.stringify(answer) }));
  const challenge = { "www-authenticate": `Bearer realm="http://${tokens.host}/token"` };
  const registry = await startFakeRegistry(({ authorization }) =>
    authorization === undefined ? { status: 401, headers: challenge } : found,
  );
  const pin = createPinImage(settings, () => undefined);
  return { tokens, registry, pin: (name = "sentinel") => pin(`${registry.host}/acme/${name}:v1`) };
}

it("are cached for an hour at most, whatever their stated lifetime", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { tokens, pin } = await startGate({ token: "abc", expires_in: 1e15 });
  await pin();
  vi.advanceTimersByTime(3_500_000);
  await pin();
  const askedWithinAnHour = tokens.requests.length;
  vi.advanceTimersByTime(100_001);

  await pin();

  expect(askedWithinAnHour).toBe(1);
  expect(tokens.requests).toHaveLength(2);
});

it.each([0, 10, -1e15])("are not cached when their lifetime is %s seconds", async (seconds) => {
  const { tokens, pin } = await startGate({ token: "abc", expires_in: seconds });
  await pin();

  await pin();

  expect(tokens.requests).toHaveLength(2);
});

it.each([
  ["an empty token", { token: "", access_token: "abc" }],
  ["a token of null", { token: null, access_token: "abc" }],
  ["a token that is no text", { token: 5, access_token: "abc" }],
  ["a token that no header may contain", { token: "a b", access_token: "abc" }],
  ["an empty access token", { token: "abc", access_token: "" }],
  ["an access token of null", { token: "abc", access_token: null }],
  ["both", { token: "abc", access_token: "xyz" }],
  ["a lifetime of null", { token: "abc", expires_in: null }],
  ["a lifetime of other things", { token: "abc", expires_in: { seconds: 5 } }],
  ["a lifetime that is no number", { token: "abc", expires_in: "soon" }],
  ["an empty lifetime", { token: "abc", expires_in: "" }],
  ["null for all else", { token: "abc", expires_in: null, issued_at: null, refresh_token: null }],
  ["a time in the future", { token: "abc", issued_at: "2100-01-01T00:00:00Z" }],
])("are taken, and cached, from an answer with %s", async (_, answer) => {
  const { registry, tokens, pin } = await startGate(answer);
  await pin();

  await pin();

  expect(tokens.requests).toHaveLength(1);
  expect(registry.requests[1]?.authorization).toBe("Bearer abc");
});

it.each([
  ["300", 1],
  ["0", 2],
])("are cached as long as the text %j says", async (expires_in, requests) => {
  const { tokens, pin } = await startGate({ token: "abc", expires_in });
  await pin();

  await pin();

  expect(tokens.requests).toHaveLength(requests);
});

it.each([{ token: "" }, { token: null, access_token: null }, { access_token: "" }, {}])(
  "are missing in %j",
  async (answer) => {
    const { pin } = await startGate(answer);

    await expect(pin()).rejects.toEqual(unavailable);
  },
);

it("are refused when they are longer than a header may be", async () => {
  const { pin } = await startGate({ token: "a".repeat(16_385), expires_in: 300 });

  await expect(pin()).rejects.toEqual(unavailable);
});

it.each(["a\r\nx-injected: 1", "a b", "\u0000", "ü"])(
  "are refused when they are %j, which no header may contain",
  async (token) => {
    const { pin } = await startGate({ token });

    await expect(pin()).rejects.toEqual(
      expect.objectContaining({ message: expect.stringContaining("without a valid token") }),
    );
  },
);

it("are removed from the cache for those of other images when they have not been used for long", async () => {
  const { tokens, pin } = await startGate({ token: "abc", expires_in: 300 });
  for (let count = 0; count <= 500; count += 1) await pin(`image-${count}`);

  await pin("image-0");

  expect(tokens.requests).toHaveLength(502);
});
