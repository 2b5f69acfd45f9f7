/** `vedette rollout proof`: writes the signed proof of a rollout, and verifies one without a running program. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, printAnswer, printJson, usageError } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { Envelope, keyIdOf, openEnvelope, readPublicKeys } from "#kernel/dsse.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { callerWords, starterWords } from "#kernel/words.ts";
import {
  ProofStatement,
  payloadType,
  proofHandlers,
  proofKeysPath,
  proofsName,
  statementTypes,
} from "#rollout/proof/contract.ts";

type WriteOptions = GlobalOptions & { out?: string };

export async function writeProof(id: string, options: WriteOptions): Promise<number> {
  const connection = connect(options);
  const { output } = proofHandlers.Read;
  const proof = await connection.call(`${proofsName}/Read`, { rollout_id: id }, output);
  if (options.out === undefined) printJson(proof);
  else {
    writeFileSync(options.out, `${JSON.stringify(proof)}\n`);
    complain(`${options.out} is written; its keys: ${connection.url}${proofKeysPath}`);
  }
  return 0;
}

type VerifyOptions = { key: string; json: boolean };

/** Exit code 2: the proof does not hold. */
export async function verifyProof(file: string, { key, json }: VerifyOptions): Promise<number> {
  const checked = checkProof(readText(file), readText(key));
  printAnswer(checked, json, reportCheck);
  return checked.verified ? 0 : 2;
}

const mostBytes = 32_000_000;

function readText(file: string): string {
  try {
    if (statSync(file).size <= mostBytes) return readFileSync(file, "utf8");
  } catch (error) {
    throw usageError(`${file}: ${(error as Error).message}`);
  }
  throw usageError(`${file}: has more than 32 MB, which no proof and no file of keys has`);
}

type Fault = "no_proof" | "unknown_key" | "changed" | "other_type";

type Check =
  | { verified: true; key_id: string; statement: ProofStatement }
  | { verified: false; code: Fault; reason: string };

/** Verifies a proof by the keys of a file. Throws for a file without keys. Pure. */
export function checkProof(proof: string, keyFile: string): Check {
  const keys = readPublicKeys(keyFile);
  if (keys.length === 0)
    throw usageError(`--key: the file has no Ed25519 public key; ${whereKeys}`);
  const envelope = Envelope.safeParse(readJson(proof)).data;
  if (envelope === undefined)
    return refuse("no_proof", "the file is no proof, or was changed: write it again");
  const [{ keyid }] = envelope.signatures;
  const ids = keys.map(keyIdOf);
  const key = keys[ids.indexOf(keyid)];
  if (key === undefined) {
    const reason = `it names the key ${keyid.slice(0, 100)}, and the file has ${ids.slice(0, 10).join(", ")}`;
    return refuse("unknown_key", `${reason}: it was changed, or ${whereKeys}`);
  }
  const payload = openEnvelope(envelope, key);
  if (payload === undefined)
    return refuse(
      "changed",
      "the signature is of another content: it was changed since, do not trust it",
    );
  const statement = envelope.payloadType === payloadType ? readJson(payload.toString()) : undefined;
  const known = ProofStatement.safeParse(statement).data;
  if (known !== undefined) return { verified: true, key_id: keyid, statement: known };
  const reason = `it is signed, but no statement of the type ${statementTypes.predicateType}`;
  return refuse("other_type", `${reason}: another version, or another program, has made it`);
}

const whereKeys = `take the keys from ${proofKeysPath} of the installation`;

function refuse(code: Fault, reason: string): Check {
  return { verified: false, code, reason };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reportCheck(check: Check): string {
  if (!check.verified) return `not verified: ${plain(check.reason)}`;
  const { predicate } = check.statement;
  const { rollout_id, fleet, image, outcome, approvals, waves, plan } = predicate;
  const starter = predicate.started_by ?? "a caller without a name";
  const succeeded = waves.reduce((sum, wave) => sum + wave.succeeded, 0);
  const by = approvals.map((one) => `wave ${one.wave} by ${callerWords(one.by)}`).join(", ");
  return [
    `verified   ${shortenImage(image)}  ${rollout_id} of the fleet ${fleet}`,
    `outcome    ${outcome}, ${succeeded} of ${plan.total} sentinels in ${waves.length} waves, ${predicate.ended_at}`,
    `started    by ${starterWords(starter, predicate.ci_run)}, ${predicate.started_at}`,
    `approved   ${by || "nothing was to be approved"}`,
    `signed     ${predicate.signed_at}, key ${check.key_id}, revision ${predicate.revision}`,
  ]
    .map(plain)
    .join("\n");
}
