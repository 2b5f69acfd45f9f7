/** Errors of a registry: refusals, which are final, and trouble, which may be temporary. */
import { ProblemError } from "#kernel/problem.ts";

export type RegistryProblemCode =
  | "invalid_request"
  | "image_not_found"
  | "image_not_allowed"
  | "registry_auth"
  | "registry_unavailable"
  | "image_unreadable";

const statuses: Record<RegistryProblemCode, number> = {
  invalid_request: 400,
  image_not_found: 400,
  image_not_allowed: 400,
  registry_auth: 400,
  registry_unavailable: 503,
  image_unreadable: 400,
};

export function refuse(
  code: RegistryProblemCode,
  detail: string,
): ProblemError<RegistryProblemCode> {
  return new ProblemError({ status: statuses[code], code, detail });
}

/** An error that may be temporary: the caller retries, after `afterMs` if the server gave one. */
export class RegistryTrouble extends Error {
  readonly afterMs: number | undefined;

  constructor(message: string, afterMs?: number) {
    super(message);
    this.name = "RegistryTrouble";
    this.afterMs = afterMs;
  }
}

/** More than we read of one answer. */
export class TooLarge extends RegistryTrouble {}
