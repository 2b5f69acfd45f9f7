/** A real identity provider on this machine, whose people the test names. */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider, type ProviderContext } from "oidc-provider";

/** By login: what the provider says of each, beside `sub`, which is the login. */
export type People = Record<string, Record<string, unknown>>;

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

export const client = { id: "vedette", secret: "the-secret-of-vedette-at-the-provider" };

type Options = {
  people: People;
  /** Whether ID tokens have the claims, and not only the UserInfo endpoint. */
  isWholeIdToken?: boolean;
  /** Whether the client has no secret. */
  isPublic?: boolean;
  /** Whether the provider takes the secret in the body alone. */
  takesPost?: boolean;
  port?: number;
};

export async function startIdentityProvider({ people, port = 0, ...options }: Options) {
  const paths: string[] = [];
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configurationOf(people, options));
  const answer = provider.callback();
  server.on("request", (request, response) => {
    const path = request.url ?? "";
    paths.push(path.split("?")[0] ?? "");
    if (path.startsWith("/interaction/")) return void interact(provider, request, response);
    answer(request, response);
  });
  return {
    issuer,
    host: new URL(issuer).host,
    /** Where requests have gone. */
    paths,
    /** As a program gets them, by its environment. */
    environment: {
      VEDETTE_CONTROL__OIDC__ISSUER: issuer,
      VEDETTE_CONTROL__OIDC__CLIENT_ID: client.id,
      ...(options.isPublic !== true && { VEDETTE_CONTROL__OIDC__CLIENT_SECRET: client.secret }),
    },
    stop: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, "close");
    },
  };
}

type Form = Omit<Options, "people" | "port">;

function configurationOf(people: People, options: Form) {
  const { isWholeIdToken = false, isPublic = false, takesPost = false } = options;
  const method = takesPost ? "client_secret_post" : "client_secret_basic";
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    clients: [
      {
        client_id: client.id,
        token_endpoint_auth_method: isPublic ? "none" : method,
        ...(!isPublic && { client_secret: client.secret }),
        // Of a native application the ports of loopback addresses are free (RFC 8252, 7.3).
        application_type: "native",
        redirect_uris: [
          "http://127.0.0.1/callback",
          "http://localhost/callback",
          "http://127.0.0.1/console/api/sign-in/callback",
        ],
        grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types: ["code"],
        id_token_signed_response_alg: "ES256",
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", kid: "first" }] },
    cookies: { keys: ["a key for the cookies of the provider"] },
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["preferred_username", "groups", "realm_access"],
    },
    clientAuthMethods: [isPublic ? "none" : method],
    conformIdTokenClaims: !isWholeIdToken,
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people[id] }),
    }),
    loadExistingGrant: grantAll,
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: showForm,
        userCodeConfirmSource: showForm,
        successSource: (context: ProviderContext) => show(context, "The device is signed in."),
      },
    },
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Grant: 600,
      IdToken: 60,
      Interaction: 600,
      Session: 600,
    },
  };
}

/** Nobody is asked whether Vedette may know who they are. */
async function grantAll({ oidc }: ProviderContext) {
  const { client, session, provider } = oidc;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope("openid email profile");
  await grant.save();
  return grant;
}

/** The form comes without a button. */
function showForm(context: ProviderContext, form: string): void {
  show(context, form.replace("</form>", '<button type="submit">Continue</button></form>'));
}

function show(context: ProviderContext, content: string): void {
  context.type = "html";
  context.body = pageOf(content);
}

const loginForm = `<form method="post">
  <label>Login <input name="login" autofocus></label>
  <button type="submit" name="answer" value="yes">Continue</button>
  <button type="submit" name="answer" value="no">Refuse</button>
</form>`;

function pageOf(content: string): string {
  return `<!doctype html><html lang="en"><head><title>Provider</title><link rel="icon" href="data:,"></head><body>${content}</body></html>`;
}

/** The page at which people say who they are, without a password. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== "POST") {
    response.setHeader("content-type", "text/html").end(pageOf(loginForm));
    return;
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const fields = new URLSearchParams(body);
  const refusal = { error: "access_denied", error_description: "the person has refused" };
  // Of native applications the provider wants the consent, too.
  const login = { login: { accountId: fields.get("login") ?? "" }, consent: {} };
  const result = fields.get("answer") === "no" ? refusal : login;
  await provider.interactionFinished(request, response, result);
}
