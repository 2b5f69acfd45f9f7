/** The default fleet alone, for what is not about several. */
import type { Deployer } from "#fleet/deployer.ts";
import type { Deploying } from "#fleet/service.ts";

export function deploying(deployer: Deployer, deployTimeoutMs: number): Map<string, Deploying> {
  return new Map([["singleton", { deployer, deployTimeoutMs }]]);
}
