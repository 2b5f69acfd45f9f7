import { z } from "zod";
import { optionalText, textList } from "#kernel/setting.ts";

export const registryConfig = {
  registry: z
    .strictObject({
      /**
       * Registries, or registry/repository prefixes, that images may come from. Empty: any but those on
       * this machine and at link-local addresses, which are asked only where one of these lists names
       * them (without a port: at every port).
       */
      allowed: textList(),
      /** Registries (host:port) spoken to over plain http, besides those on this machine. */
      insecure: textList(),
      /** Token services that are no neighbours of their registry, for example api.scaleway.com. */
      token_hosts: textList(),
      /** A Docker `config.json` with credentials. Empty: none is read. */
      docker_config: optionalText(),
    })
    .prefault({}),
};
export type RegistryConfig = z.infer<typeof registryConfig.registry>;
