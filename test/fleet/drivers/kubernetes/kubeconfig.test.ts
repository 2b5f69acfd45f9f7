import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { readAccess } from "#fleet/drivers/kubernetes/kubeconfig.ts";

const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const pemData = Buffer.from(pem).toString("base64");

type Entries = {
  current?: string;
  cluster?: object | null;
  context?: object;
  user?: object | null;
  /** Of the cluster, the context and the user. */
  name?: string;
};

function buildText({ current, cluster, context, user, name = "edge" }: Entries = {}): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": current ?? name,
    clusters: [{ name, cluster: { server: "https://10.0.0.1:6443", ...cluster } }],
    contexts: [{ name, context: { cluster: name, user: name, ...context } }],
    users: [{ name, user: user === undefined ? { token: "abc" } : user }],
  });
}

const at = (text: string, file = "/home/op/.kube/config") => ({ file, text });
const read = (entries: Entries, context = "") => readAccess([at(buildText(entries))], context);

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

describe("readAccess", () => {
  it("takes the cluster, the namespace and the token of the current context", () => {
    const access = read({ context: { namespace: "gateways" } });

    expect(access).toEqual({
      server: "https://10.0.0.1:6443",
      namespace: "gateways",
      ca: undefined,
      servername: undefined,
      isInsecure: false,
      proxyUrl: undefined,
      cert: undefined,
      key: undefined,
      login: { kind: "token", token: "abc" },
    });
  });

  it.each<{ what: string; cluster: object; expected: object }>([
    {
      what: "a server with slashes at its end",
      cluster: { server: "https://rancher/k8s/clusters/c-1//" },
      expected: { server: "https://rancher/k8s/clusters/c-1" },
    },
    {
      what: "a server by IPv6",
      cluster: { server: "https://[2001:db8::1]:6443" },
      expected: { server: "https://[2001:db8::1]:6443" },
    },
    {
      what: "another name in the certificate",
      cluster: { "tls-server-name": "api.internal" },
      expected: { servername: "api.internal" },
    },
    {
      what: "a certificate that is not checked",
      cluster: { "insecure-skip-tls-verify": true },
      expected: { isInsecure: true },
    },
    {
      what: "a proxy",
      cluster: { "proxy-url": "socks5://127.0.0.1:1080" },
      expected: { proxyUrl: "socks5://127.0.0.1:1080" },
    },
    { what: "an empty proxy", cluster: { "proxy-url": "" }, expected: { proxyUrl: undefined } },
    {
      what: "a CA file beside the kubeconfig",
      cluster: { "certificate-authority": "pki/ca.crt" },
      expected: { ca: { file: "/home/op/.kube/pki/ca.crt" } },
    },
    {
      what: "an absolute CA file",
      cluster: { "certificate-authority": "/etc/ca.crt" },
      expected: { ca: { file: "/etc/ca.crt" } },
    },
    {
      what: "the CA's text before its file",
      cluster: { "certificate-authority": "ca.crt", "certificate-authority-data": pemData },
      expected: { ca: { data: Buffer.from(pem) } },
    },
  ])("reads $what", ({ cluster, expected }) => {
    expect(read({ cluster })).toMatchObject(expected);
  });

  it.each<{ what: string; user: object | null; expected: object }>([
    { what: "nobody", user: {}, expected: { kind: "none" } },
    { what: "an entry without a user", user: null, expected: { kind: "none" } },
    {
      what: "a token before its file and a plugin",
      user: { token: "t", tokenFile: "f", exec: { apiVersion: "x", command: "c" } },
      expected: { kind: "token", token: "t" },
    },
    {
      what: "a file with a token, if the token is empty",
      user: { token: "", tokenFile: "../token" },
      expected: { kind: "token-file", file: "/home/op/token" },
    },
    {
      what: "a password",
      user: { username: "op", password: "pass" },
      expected: { kind: "password", username: "op", password: "pass" },
    },
    {
      what: "a token, of a user who once had an auth-provider",
      user: { token: "t", "auth-provider": { name: "gcp" } },
      expected: { kind: "token", token: "t" },
    },
  ])("logs in as $what", ({ user, expected }) => {
    expect(read({ user }).login).toEqual(expected);
  });

  it("reads a certificate from the text and its key from a file", () => {
    const user = { "client-certificate-data": pemData, "client-key": "op.key" };

    expect(read({ user })).toMatchObject({
      cert: { data: Buffer.from(pem) },
      key: { file: "/home/op/.kube/op.key" },
      login: { kind: "none" },
    });
  });

  it.each([
    ["aws", "aws"],
    ["./bin/login", "/home/op/.kube/bin/login"],
    ["/usr/bin/aws", "/usr/bin/aws"],
  ])("looks for the plugin %s at %s", (command, expected) => {
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command };

    expect(read({ user: { exec } }).login).toEqual({
      kind: "exec",
      plugin: { apiVersion: exec.apiVersion, command: expected, args: [], env: {} },
    });
  });

  it("gives a plugin its arguments, its variables, and the cluster if it asks for it", () => {
    const extension = { region: "eu" };
    const cluster = {
      "certificate-authority": "ca.crt",
      extensions: [{ name: "client.authentication.k8s.io/exec", extension }],
    };
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1beta1",
      command: "aws",
      args: ["eks", "get-token"],
      env: [{ name: "AWS_PROFILE", value: "edge" }, { name: "EMPTY" }],
      provideClusterInfo: true,
      interactiveMode: "IfAvailable",
    };

    expect(read({ cluster, user: { exec } }).login).toMatchObject({
      plugin: {
        args: ["eks", "get-token"],
        env: { AWS_PROFILE: "edge", EMPTY: "" },
        cluster: {
          server: "https://10.0.0.1:6443",
          ca: { file: "/home/op/.kube/ca.crt" },
          config: extension,
        },
      },
    });
  });

  it("follows anchors and merge keys, as kubectl does", () => {
    const text = [
      "current-context: edge",
      "base: &base { server: 'https://a' }",
      "clusters: [{ name: edge, cluster: { <<: *base, tls-server-name: b } }]",
      "contexts: [{ name: edge, context: { cluster: edge } }]",
    ].join("\n");

    expect(readAccess([at(text)], "")).toMatchObject({ server: "https://a", servername: "b" });
  });

  it("is not kept from a context by a fault of another one", () => {
    const text = [
      "current-context: edge",
      "clusters: [{ name: old, cluster: { server: '' } }, { name: edge, cluster: { server: 'https://a' } }]",
      "contexts: [{ name: old }, { name: edge, context: { cluster: edge, user: '' } }]",
      "users: [{ name: old, user: { exec: {} } }]",
    ].join("\n");

    expect(readAccess([at(text)], "")).toMatchObject({
      server: "https://a",
      login: { kind: "none" },
    });
  });
});

describe("readAccess of several files", () => {
  const first = at(buildText({ user: { tokenFile: "token" } }), "/one/config");
  const second = at(
    buildText({ user: { token: "of the second" }, context: { namespace: "second" } }),
    "/two/config",
  );
  const other = at(buildText({ name: "other", user: { tokenFile: "token" } }), "/two/other");

  it("takes each name from the first file that has it, as a whole", () => {
    expect(readAccess([first, second], "")).toMatchObject({
      namespace: undefined,
      login: { kind: "token-file", file: "/one/token" },
    });
  });

  it.each([
    ["of the first file that has one", [first, other], "/one/token"],
    [
      "of the second, when the first has none",
      [at("users: []", "/one/config"), other],
      "/two/token",
    ],
    ["of the second, when the first is empty", [at("", "/one/config"), other], "/two/token"],
  ])("takes the current context %s", (_, files, file) => {
    expect(readAccess(files, "").login).toEqual({ kind: "token-file", file });
  });

  it("finds a context that is asked for in any of them", () => {
    expect(readAccess([first, other], "other").login).toMatchObject({ file: "/two/token" });
  });

  it("joins a context of one file with a cluster and a user of another", () => {
    const context = at("contexts: [{ name: both, context: { cluster: other, user: edge } }]", "/c");

    expect(readAccess([context, first, other], "both").login).toMatchObject({ file: "/one/token" });
  });
});

describe("what readAccess refuses", () => {
  const plugin = { apiVersion: "client.authentication.k8s.io/v1", command: "aws" };
  const user = (words: string) => `/home/op/.kube/config: the user edge: ${words}`;
  const cluster = (words: string) => `/home/op/.kube/config: the cluster edge: ${words}`;

  it.each<{ entries: Entries; message: string }>([
    {
      entries: { user: { "auth-provider": { name: "gcp" } } },
      message: user("has an auth-provider, which Kubernetes has removed: use exec"),
    },
    {
      entries: { user: { token: "abc", as: "admin" } },
      message: user("acts as another one (as), which is not supported: name a user without it"),
    },
    {
      entries: {
        user: { exec: { ...plugin, apiVersion: "client.authentication.k8s.io/v1alpha1" } },
      },
      message: user(
        "has an exec of another apiVersion than client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1: change it",
      ),
    },
    {
      entries: { user: { exec: { ...plugin, interactiveMode: "Always" } } },
      message: user("has an exec that asks at a terminal (interactiveMode: Always): use another"),
    },
    {
      entries: { user: { exec: { ...plugin, args: ["s3cret", 5] } } },
      message: user("is wrong at exec.args.1"),
    },
    {
      entries: { user: { exec: { ...plugin, env: [{ name: "A=B", value: "s3cret" }] } } },
      message: user("is wrong at exec.env.0.name"),
    },
    { entries: { user: { token: { s3cret: 1 } } }, message: user("is wrong at token") },
    {
      entries: { user: { "client-certificate-data": pemData } },
      message: user("client-certificate and client-key belong together: give both"),
    },
    {
      entries: { user: { "client-key-data": "czNjcmV0" } },
      message: user("its client-key-data is no PEM in base64"),
    },
    {
      entries: { cluster: { "certificate-authority-data": "s3cret" } },
      message: cluster("its certificate-authority-data is no PEM in base64"),
    },
    {
      entries: {
        cluster: { "certificate-authority": "ca.crt", "insecure-skip-tls-verify": true },
      },
      message: cluster("certificate-authority and insecure-skip-tls-verify exclude each other"),
    },
    { entries: { cluster: { server: "s3cret:6443" } }, message: cluster("is wrong at server") },
    {
      entries: { cluster: { "proxy-url": "ftp://op:s3cret@proxy" } },
      message: cluster("is wrong at proxy-url"),
    },
    {
      entries: { context: { cluster: "gone" } },
      message: '/home/op/.kube/config: there is no cluster gone; the only one is "edge"',
    },
    {
      entries: { context: { user: "gone" } },
      message: '/home/op/.kube/config: there is no user gone; the only one is "edge"',
    },
    {
      entries: { current: "gone" },
      message: '/home/op/.kube/config: there is no context gone; the only one is "edge"',
    },
    {
      entries: { current: "" },
      message:
        '/home/op/.kube/config: no current context: set fleet.kubernetes.context; the only one is "edge"',
    },
  ])("says: $message", ({ entries, message }) => {
    expect(messageOf(() => read(entries))).toBe(message);
  });

  it.each([
    ["text that is no YAML", "users: [s3cret: }", "/a is no YAML"],
    ["a tag, of which the parser would warn", "token: !s3cret x", "/a: no current context"],
    ["two documents", "token: s3cret\n---\ntoken: s3cret", "/a is no YAML"],
    ["a text", "s3cret", "/a is no kubeconfig"],
    ["a list that is none", "users: s3cret", "/a is no kubeconfig at users"],
    [
      "a name that is none",
      "users: [{ name: { s3cret: 1 } }]",
      "/a is no kubeconfig at users.0.name",
    ],
  ])("names the file of %s, and quotes nothing", (_, text, words) => {
    const message = messageOf(() => readAccess([at(text, "/a")], ""));

    expect(message).toContain(words);
    expect(message).not.toContain("s3cret");
  });

  it("has no warning of the parser, which would quote a line", async () => {
    const warnings: Error[] = [];
    const keep = (warning: Error) => warnings.push(warning);
    process.on("warning", keep);
    onTestFinished(() => void process.off("warning", keep));

    messageOf(() => readAccess([at("token: !s3cret x", "/a")], ""));
    // Warnings come a tick later.
    await setImmediate();

    expect(warnings).toEqual([]);
  });

  it("lists ten names at most, of all files, each once", () => {
    const names = Array.from({ length: 12 }, (_, n) => ({ name: `c${n}` }));
    const text = stringify({ contexts: names });

    const message = messageOf(() => readAccess([at(text, "/a"), at(text, "/b")], "gone"));

    expect(message).toBe(
      "/a, /b: there is no context gone; there are c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more",
    );
  });
});
