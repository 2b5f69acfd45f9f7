/** Registries that offer several ways to authenticate, some of which lead nowhere. */
import { expect, it } from "vitest";
import {
  type RegistryReply,
  type RegistryRequest,
  startFakeRegistry,
} from "../../support/servers/fake-registry.ts";
import { createPinImage } from "../../support/servers/image-gate.ts";

const settings = { allowed: [], insecure: ["127.0.0.1"], token_hosts: [], docker_config: "" };
const digest = `sha256:${"ab".repeat(32)}`;
const found = { status: 200, headers: { "docker-content-digest": digest } };
const credential = { user: "deployer", password: "secret-word" };
const basic = `Basic ${Buffer.from("deployer:secret-word").toString("base64")}`;
const refused = expect.objectContaining({ code: "registry_auth", status: 400 });

const refuse = (...challenges: string[]): RegistryReply => ({
  status: 401,
  headers: { "www-authenticate": challenges },
});

type Reply = (request: RegistryRequest, count: number) => RegistryReply;

/** A token service that answers `tokens`, and a registry that is told its address. */
async function startGate(
  tokens: Reply,
  registryOf: (realm: string) => Reply,
  known: typeof credential | null = credential,
) {
  const service = await startFakeRegistry(tokens);
  const registry = await startFakeRegistry(registryOf(`http://${service.host}/token`));
  const pin = createPinImage(settings, () => known ?? undefined);
  return { service, registry, pin: () => pin(`${registry.host}/acme/sentinel:v1`) };
}

const token =
  (value = "abc"): Reply =>
  () => ({ status: 200, body: JSON.stringify({ token: value, expires_in: 300 }) });

/** Of a registry that takes one authorization and offers these challenges for others. */
const takes =
  (taken: string, challenge: (realm: string) => string[]) =>
  (realm: string): Reply =>
  ({ authorization }) =>
    authorization === taken ? found : refuse(...challenge(realm));

it.each([
  ["Basic, Bearer", (realm: string) => [`Basic realm="r", Bearer realm="${realm}",service="s"`]],
  ["Bearer, Basic", (realm: string) => [`Bearer realm="${realm}",service="s", Basic realm="r"`]],
  ["Negotiate, Bearer", (realm: string) => [`Negotiate, Bearer realm="${realm}",service="s"`]],
  [
    "Negotiate with a token, NTLM, Bearer",
    (realm: string) => [`Negotiate abc==, NTLM, Bearer realm="${realm}",service="s"`],
  ],
  [
    "Basic and Bearer in two headers",
    (realm: string) => ['Basic realm="r"', `Bearer realm="${realm}",service="s"`],
  ],
])("a token is preferred among %s", async (_, challenge) => {
  const { service, pin } = await startGate(token(), takes("Bearer abc", challenge));

  expect(await pin()).toContain(digest);

  expect(service.requests.map(({ path }) => path)).toEqual([
    "/token?service=s&scope=repository%3Aacme%2Fsentinel%3Apull",
  ]);
});

it.each([
  ["a foreign host", () => "https://auth.example.com/token"],
  ["no address", () => "Registry Realm"],
  ["another machine without encryption", () => "http://registry.example.com/token"],
  ["a closed port", () => "http://127.0.0.1:1/token"],
])("the password is sent if the token service is %s", async (_, realm) => {
  const { registry, pin } = await startGate(
    token(),
    takes(basic, () => [`Bearer realm="${realm()}",service="s", Basic realm="r"`]),
  );

  expect(await pin()).toContain(digest);

  expect(registry.requests.map(({ authorization }) => authorization)).toEqual([undefined, basic]);
});

it.each([
  ["refuses it", { status: 401 }],
  ["does not exist", { status: 404 }],
  ["fails", { status: 500 }],
  ["answers with a page", { status: 200, body: "<html></html>" }],
])("the password is sent if the token service %s", async (_, answer) => {
  const { pin } = await startGate(
    () => answer,
    takes(basic, (realm) => [`Bearer realm="${realm}"`, 'Basic realm="r"']),
  );

  expect(await pin()).toContain(digest);
});

it("the password is sent if the registry refuses the token", async () => {
  const { registry, pin } = await startGate(
    token(),
    takes(basic, (realm) => [`Bearer realm="${realm}", Basic realm="r"`]),
  );

  expect(await pin()).toContain(digest);

  expect(registry.requests.map(({ authorization }) => authorization)).toEqual([
    undefined,
    "Bearer abc",
    basic,
  ]);
});

it("the second token service is asked if the first is a foreign host", async () => {
  const { pin } = await startGate(
    token(),
    takes("Bearer abc", (realm) => [
      `Bearer realm="https://auth.example.com/token", Bearer realm="${realm}"`,
    ]),
  );

  expect(await pin()).toContain(digest);
});

it("the password is not sent if only a token of a foreign host is offered", async () => {
  const { registry, pin } = await startGate(
    token(),
    takes(basic, () => ['Bearer realm="https://auth.example.com/token"']),
  );

  await expect(pin()).rejects.toThrow("a foreign host");

  expect(registry.requests.map(({ authorization }) => authorization)).not.toContain(basic);
});

it("nobody's password is sent where there is none", async () => {
  const { registry, pin } = await startGate(
    token(),
    takes(basic, () => ['Negotiate, Basic realm="r"']),
    null,
  );

  await expect(pin()).rejects.toEqual(refused);

  expect(registry.requests).toHaveLength(1);
});

it("a token for the scope of a second challenge is fetched", async () => {
  const wide = "repository:acme/sentinel:pull repository:acme/base:pull";
  const { service, pin } = await startGate(
    ({ path }) => ({
      status: 200,
      body: JSON.stringify({ token: path.includes("base") ? "wide" : "narrow" }),
    }),
    (realm) =>
      ({ authorization }) => {
        if (authorization === "Bearer wide") return found;
        if (authorization === undefined) return refuse(`Bearer realm="${realm}"`);
        return refuse(`Bearer realm="${realm}",scope="${wide}",error="insufficient_scope"`);
      },
  );

  expect(await pin()).toContain(digest);

  expect(service.requests.map(({ path }) => path)).toEqual([
    "/token?scope=repository%3Aacme%2Fsentinel%3Apull",
    "/token?scope=repository%3Aacme%2Fsentinel%3Apull&scope=repository%3Aacme%2Fbase%3Apull",
  ]);
});

it("a challenge with status 403 is answered", async () => {
  const { pin } = await startGate(token(), (realm) => ({ authorization }) => {
    if (authorization === "Bearer abc") return found;
    return { status: 403, headers: { "www-authenticate": `Bearer realm="${realm}"` } };
  });

  expect(await pin()).toContain(digest);
});

it("a registry that always wants another token is refused", async () => {
  let count = 0;
  const { service, pin } = await startGate(token(), (realm) => () => {
    count += 1;
    return refuse(`Bearer realm="${realm}",scope="repository:acme/s${count}:pull"`);
  });

  await expect(pin()).rejects.toEqual(refused);

  expect(service.requests.length).toBeLessThan(10);
});

it("a token service may redirect to another address of its own", async () => {
  const { service, pin } = await startGate(
    ({ path }) =>
      path.startsWith("/token/")
        ? { status: 200, body: '{"token":"abc"}' }
        : { status: 307, headers: { location: path.replace("/token", "/token/") } },
    takes("Bearer abc", (realm) => [`Bearer realm="${realm}"`]),
  );

  expect(await pin()).toContain(digest);

  expect(service.requests.map(({ authorization }) => authorization)).toEqual([basic, basic]);
});

it("a password is not sent to where a token service redirects", async () => {
  const stranger = await startFakeRegistry(token());
  const { pin } = await startGate(
    () => ({ status: 307, headers: { location: `http://${stranger.host}/` } }),
    takes("Bearer abc", (realm) => [`Bearer realm="${realm}"`]),
  );

  await pin();

  expect(stranger.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
});

it("an identity token is not sent to where a token service redirects", async () => {
  const stranger = await startFakeRegistry(token());
  const service = await startFakeRegistry(() => ({
    status: 307,
    headers: { location: `http://${stranger.host}/` },
  }));
  const registry = await startFakeRegistry(() => refuse(`Bearer realm="http://${service.host}/"`));
  const pin = createPinImage(settings, () => ({ identityToken: "secret-word" }));

  await expect(pin(`${registry.host}/acme/sentinel:v1`)).rejects.toEqual(refused);

  expect(stranger.requests).toEqual([]);
});
