import { createRegistryClient } from "#registry/client.ts";
import type { RegistryConfig } from "#registry/config.ts";
import type { FindCredential } from "#registry/credentials.ts";
import { createPinImage as createPin } from "#registry/pin.ts";

/** The image gate with a client of its own. */
export function createPinImage(settings: RegistryConfig, findCredential: FindCredential) {
  return createPin(settings, createRegistryClient(settings, findCredential));
}
