import { ProblemError } from "#kernel/problem.ts";

export type RegistryProblemCode =
  | "image_not_found"
  | "image_not_allowed"
  | "registry_auth"
  | "registry_unavailable";

const statuses: Record<RegistryProblemCode, number> = {
  image_not_found: 400,
  image_not_allowed: 400,
  registry_auth: 400,
  registry_unavailable: 503,
};

export function refuse(
  code: RegistryProblemCode,
  detail: string,
): ProblemError<RegistryProblemCode> {
  return new ProblemError({ status: statuses[code], code, detail });
}
