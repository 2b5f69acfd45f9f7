import type { Readable } from "node:stream";
import { parseImageReference } from "#kernel/image-reference.ts";
import { cleanWords } from "#kernel/log.ts";
import { cleanText } from "#kernel/text.ts";
import { type Engine, messageOf, RefusedError } from "./engine.ts";
import {
  type Credential,
  type ImageReference,
  nameForEngine,
  type PullFailure,
  parseReference,
  pullFailure,
  registryAuth,
} from "./reference.ts";
import { PullError } from "./schemas.ts";

/** undefined: the registry is asked as nobody. May throw, when it is not clear whose credential one is. */
export type FindCredential = (registry: string, repository: string) => Credential | undefined;

export type PullSettings = { findCredential: FindCredential; limitMs: number };

/** undefined: the image is there. */
export type Pull = (image: string) => Promise<PullFailure | undefined>;

/** Pulls a digest only if absent, a tag each time: without its registry it is the one that is there. Pulls are shared. */
export function createPull(engine: Engine, settings: PullSettings): Pull {
  const underWay = new Map<string, Promise<PullFailure | undefined>>();
  return (image) => {
    const known = underWay.get(image);
    if (known !== undefined) return known;
    const pulling = bring(engine, image, settings).finally(() => underWay.delete(image));
    // Whoever asked may have left by the time it fails.
    pulling.catch(() => {});
    underWay.set(image, pulling);
    return pulling;
  };
}

async function bring(
  engine: Engine,
  image: string,
  settings: PullSettings,
): Promise<PullFailure | undefined> {
  const reference = parseReference(image);
  const isThere = async () => (await inspect(engine, image)) === 200;
  if (reference === undefined) {
    if (await isThere()) return undefined;
    return { reason: `invalid_image: ${cleanText(image, 100)} is no name`, isPermanent: true };
  }
  if (reference.digest !== undefined && (await isThere())) return undefined;
  const failure = await pull(engine, reference, settings);
  return failure !== undefined && (await isThere()) ? undefined : failure;
}

async function inspect(engine: Engine, image: string): Promise<number> {
  const name = encodeURIComponent(nameForEngine(image));
  return (await engine.call({ method: "GET", path: `/images/${name}/json` })).status;
}

async function pull(
  engine: Engine,
  reference: ImageReference,
  { findCredential, limitMs }: PullSettings,
): Promise<PullFailure | undefined> {
  const { repository, tag, digest } = reference;
  const { registry = "", repository: path = "" } = parseImageReference(repository) ?? {};
  let credential: Credential | undefined;
  try {
    credential = findCredential(registry, path);
  } catch (error) {
    return { reason: `image_auth: ${(error as Error).message}`, isPermanent: true };
  }
  const answer = await engine.open({
    method: "POST",
    path: "/images/create",
    // Without either an engine would pull all tags.
    query: { fromImage: repository, tag: digest ?? tag },
    ...(credential && { headers: { "x-registry-auth": registryAuth(credential, registry) } }),
    limitMs,
  });
  try {
    const words = await readFailure(answer.body);
    if ([401, 403].includes(answer.statusCode)) {
      throw new RefusedError(`unauthorized: the engine of ${engine.host} may not be told to pull`);
    }
    if (words !== undefined) return pullFailure(words);
    return answer.statusCode < 300 ? undefined : pullFailure(`status ${answer.statusCode}`);
  } catch (error) {
    throw engine.fail(error);
  }
}

const maxLine = 4_096;

/** Lines that may tell an error, and do not, take time; an engine has hardly any. */
const mostRead = 1_000;
const mayTell = /^\s*[^\s{]|"(?:error|errorDetail|message)"\s*:/;

/** An engine may answer 200 and tell the error in a line of its progress; the image is there only at the body's end. */
async function readFailure(body: Readable): Promise<string | undefined> {
  let words: string | undefined;
  let left = mostRead;
  const read = (line: string) => {
    if (words !== undefined || left === 0 || !mayTell.test(line)) return;
    left -= 1;
    words = failureIn(line);
  };
  let rest = "";
  for await (const chunk of body.setEncoding("utf8")) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = (lines.pop() ?? "").slice(0, maxLine);
    for (const line of lines) read(line.slice(0, maxLine));
  }
  read(rest);
  return words;
}

function failureIn(line: string): string | undefined {
  const parsed = parse(line);
  const { data } = PullError.safeParse(parsed);
  const words = data?.errorDetail?.message ?? data?.error ?? messageOf(parsed);
  return words === "" ? undefined : cleanWords(words, 300).trim();
}

/** Progress is JSON; an error may be plain text. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}
