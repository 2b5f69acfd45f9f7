import { z } from "zod";
import { optionalText, textList, wholeNumber } from "#kernel/setting.ts";

export const registryConfig = {
  registry: z
    .strictObject({
      allowed: textList().describe(
        "Registries, or registry/repository prefixes, that images may come from; empty: all but this machine",
      ),
      insecure: textList().describe("Registries (`host:port`) to use over plain http"),
      token_hosts: textList().describe(
        "Hosts of token services outside of their registry's domain",
      ),
      docker_config: optionalText().describe("A Docker `config.json` with credentials"),
      not_found_wait_seconds: wholeNumber({ min: 0, max: 20, default: 5 }).describe(
        "How long an image that is not found is asked for again",
      ),
    })
    .prefault({}),
};
export type RegistryConfig = z.infer<typeof registryConfig.registry>;
