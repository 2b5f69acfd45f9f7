/** The default fleet alone, for what is not about several. */
import type { Deployer } from "#fleet/deploys/deployer.ts";
import type { Deploying } from "#fleet/deploys/service.ts";

export function deploying(deployer: Deployer, deployTimeoutMs: number): Map<string, Deploying> {
  return new Map([["singleton", { deployer, deployTimeoutMs }]]);
}
