/** Wires the image gate: an image exists, is pinned to its digest, and has passed CI where the settings ask for that. */
import path from "node:path";
import { createCommitApi } from "#ci/commit/api.ts";
import { isApiOf } from "#ci/commit/repository.ts";
import type { CiKind } from "#ci/contract.ts";
import { createCheckCi, createImageChecks } from "#ci/image-checks.ts";
import { findGap as findSigstoreGap } from "#ci/sigstore/config.ts";
import { createSigstore } from "#ci/sigstore/sigstore.ts";
import type { Config } from "#config.ts";
import { isLoopback } from "#kernel/address.ts";
import type { Network } from "#kernel/reach.ts";
import { createReadAttachments } from "#registry/attachments.ts";
import { createRegistryClient, type RegistryClient } from "#registry/client.ts";
import { createReadLabels } from "#registry/labels.ts";
import { createPinImage } from "#registry/manifest.ts";
import type { RolloutConfig } from "#rollout/config.ts";
import type { ResolveImage } from "#rollout/fleets.ts";
import type { Base } from "./base.ts";
import { type Fleet, type FleetWithLogins, fleetsOf, settingOf } from "./fleets.ts";

export function createResolveImage(base: Base, of: FleetWithLogins): ResolveImage {
  const isChecked = of.rollout.require_ci.length > 0;
  // Both share it: the keys and the trusted root are read once.
  const evidence = isChecked ? createEvidence(base) : undefined;
  const inOpen = createResolve(base, of, { evidence, closed: [] });
  const inPublic = createResolve(base, of, { evidence, closed: ["private"] });
  return (image, isOpen) => (isOpen ? inOpen : inPublic)(image);
}

type ResolveParts = {
  /** undefined: no evidence of CI is asked for. */
  evidence: ReturnType<typeof createEvidence> | undefined;
  closed: readonly Network[];
};

function createResolve(base: Base, of: FleetWithLogins, { evidence, closed }: ResolveParts) {
  const { registry, rollout, fleet } = of;
  const client = createRegistryClient(registry, of.findCredential, base.services, closed);
  const pinImage = createPinImage(registry, client);
  if (evidence !== undefined) {
    const checkCi = createChecks(base, of, { client, evidence });
    return async (requested: string) => {
      const image = await pinImage(requested);
      return { image, ci: await checkCi(image) };
    };
  }
  const isGated = rollout.require_image_in_registry ?? fleet.driver !== "process";
  return async (image: string) => ({ image: isGated ? await pinImage(image) : image });
}

function createEvidence({ config: { ci }, dataDir, log }: Base) {
  return {
    commits: createCommitApi({ apiUrl: ci.commit.api_url, token: ci.commit.token }),
    signatures: createSigstore(ci.sigstore, { cacheDir: path.join(dataDir, "sigstore"), log }),
  };
}

function createChecks(
  { config, log }: Base,
  { rollout, registry }: Fleet,
  { client, evidence }: { client: RegistryClient; evidence: ReturnType<typeof createEvidence> },
) {
  const { ci } = config;
  const patience = { notFoundWaitMs: registry.not_found_wait_seconds * 1_000 };
  const checksOf = createImageChecks(ci, {
    readLabels: createReadLabels(client, patience),
    readAttachments: createReadAttachments(client, patience),
    ...evidence,
  });
  return createCheckCi({ required: rollout.require_ci, allow: ci.allow, checksOf, log });
}

/** Evidence that no image could have. Returns a line for each fault. */
export function findUselessCi(config: Config): string[] {
  return fleetsOf(config).flatMap((of) => findUseless(config.ci, of));
}

type FleetGate = Pick<Fleet, "name"> & {
  rollout: Pick<RolloutConfig, "require_ci" | "require_image_in_registry">;
};

function findUseless(ci: Config["ci"], { name, rollout }: FleetGate): string[] {
  const { require_ci: required, require_image_in_registry: isInRegistry } = rollout;
  const gaps = required.map((kind) => findGap(kind, ci)).filter((gap) => gap !== undefined);
  const fault = needsSigstore(required) ? findUnreadableFile(ci.sigstore) : undefined;
  if (fault !== undefined) gaps.push(fault);
  if (required.length > 0 && isInRegistry === false) {
    gaps.push(
      "the registry has the evidence, so rollout.require_image_in_registry must not be false",
    );
  }
  const setting = settingOf(name, "rollout.require_ci");
  return gaps.map((gap) => `${setting}: ${gap} (docs/image-gate.md)`);
}

function findGap(kind: CiKind, { commit, labels, sigstore }: Config["ci"]): string | undefined {
  if (kind === "commit") return findCommitGap(commit);
  if (kind === "label") {
    const isNamed = Object.keys(labels).length > 0;
    return isNamed ? undefined : "label needs ci.labels: no label is asked for so far";
  }
  return findSigstoreGap(kind, sigstore);
}

function needsSigstore(required: readonly CiKind[]): boolean {
  return required.includes("signature") || required.includes("provenance");
}

/** Keys and trusted root, which are read at the start. */
function findUnreadableFile(settings: Config["ci"]["sigstore"]): string | undefined {
  try {
    createSigstore(settings, { cacheDir: "" });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function findCommitGap(commit: Config["ci"]["commit"]): string | undefined {
  const { repositories, required, api_url: api, token } = commit;
  if (repositories.length === 0) {
    return "commit needs ci.commit.repositories: no commit counts so far";
  }
  if (required.length === 0) {
    return "commit needs ci.commit.required: the statuses and check runs that have to be green";
  }
  const foreign = repositories.find((one) => !isApiOf(one, api));
  if (foreign !== undefined) {
    return `ci.commit.api_url, ${api}, is not that of ${foreign}: it would be asked about somebody else's repository`;
  }
  const { protocol, hostname } = new URL(api);
  if (token === "" || protocol === "https:" || isLoopback(hostname)) return undefined;
  return "ci.commit.api_url has to be https, so that ci.commit.token is not sent in clear text";
}
