import { z } from "zod";
import { optionalText, textList, wholeNumber } from "#kernel/setting.ts";

export const registryConfig = {
  registry: z
    .strictObject({
      allowed: textList().describe(
        "Registries or prefixes that images may come from; empty: all but this machine",
      ),
      insecure: textList().describe("Registries (`host:port`) by plain http"),
      token_hosts: textList().describe("Token services outside their registry's domain"),
      docker_config: optionalText().describe("A Docker `config.json`"),
      not_found_wait_seconds: wholeNumber({ min: 0, max: 20, default: 5 }).describe(
        "How long a missing image is asked for again",
      ),
    })
    .prefault({}),
};
export type RegistryConfig = z.infer<typeof registryConfig.registry>;
