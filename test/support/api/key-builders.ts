/** Keys as the database would tell them, for tests of decisions. */
import type { KeyRecord } from "#api/cache/key-record.ts";
import type { RatelimitRule } from "#api/schemas/resources.ts";

type Overrides = Omit<Partial<KeyRecord>, "identity"> & {
  identity?: Partial<NonNullable<KeyRecord["identity"]>>;
};

/** A key that may be used by anyone, without credits and limits. */
export function buildKeyRecord({ identity, ...overrides }: Overrides = {}): KeyRecord {
  return {
    id: "key_1",
    workspaceId: "ws_1",
    keySpaceId: "ks_1",
    forWorkspaceId: null,
    apiId: "api_1",
    isApiDeleted: false,
    isWorkspaceEnabled: true,
    isForWorkspaceEnabled: true,
    forWorkspaceLimitPerMinute: null,
    name: null,
    start: "test_abcd",
    isEnabled: true,
    isDeleted: false,
    expiresMs: null,
    hasCredits: false,
    meta: null,
    ipAllowlist: null,
    permissions: [],
    roles: [],
    ratelimits: [],
    ...overrides,
    identity:
      identity === undefined
        ? null
        : { id: "id_1", externalId: "user_1", meta: null, ratelimits: [], ...identity },
  };
}

export function buildRule(overrides: Partial<RatelimitRule> = {}): RatelimitRule {
  return {
    id: `rl_${overrides.name ?? "requests"}`,
    name: "requests",
    limit: 10,
    durationMs: 60_000,
    autoApply: true,
    ...overrides,
  };
}
