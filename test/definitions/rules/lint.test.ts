import { expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import { ChannelRow } from "#definitions/rows/fields.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { lintSet } from "#definitions/rules/lint.ts";
import type { AlertSource } from "#routing/contract.ts";
import { standardRows } from "../../support/monitor/standard-definitions.ts";

const check = (fields: object) => CheckRow.parse({ id: "shop", path: "/", ...fields });
const heartbeat = HeartbeatRow.parse({ id: "shop", periodSeconds: 60, graceSeconds: 0 });
const staging = ChannelRow.parse({ id: "staging", kind: "incident", environment: "staging" });
const [one, two] = ["one", "two"].map((id) => ChannelRow.parse({ id, kind: "incident" })) as [
  ChannelRow,
  ChannelRow,
];
const chat = ChannelRow.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const source: AlertSource = {
  name: "mail",
  title: "Mail",
  kind: "email",
  environment: null,
  labels: { team: [] },
};
const routeBy = (condition: object, from = "mail") => ({
  name: "Mails",
  sources: [{ source: from, conditions: [{ operation: "is_set", ...condition } as never] }],
  escalation: null,
  channel: "#mails",
});

const linesOf = (set: Partial<DefinitionSet>) =>
  lintSet({ ...emptySet, ...set }).map(({ section, key, field = [], message }) =>
    [[section, key, ...field].join("."), message].join(": "),
  );

it("the lint finds nothing in the standard rows", () => {
  expect(lintSet(standardRows)).toEqual([]);
});

it.each<[string, Partial<DefinitionSet>, string]>([
  [
    "an id of a check and a heartbeat",
    { checks: [check({})], heartbeats: [heartbeat] },
    "heartbeats.shop: there is a check of this id",
  ],
  ["an id that is there twice", { checks: [check({}), check({})] }, "checks.shop: is there twice"],
  [
    "a channel that is not there",
    { checks: [check({ channels: ["x"] })], channels: [staging] },
    'checks.shop.channels.0: there is no such channel; the only one is "staging"',
  ],
  [
    "a channel that is mistyped",
    { checks: [check({ channels: ["stging"] })], channels: [staging] },
    "checks.shop.channels.0: there is no such channel: did you mean staging?",
  ],
  [
    "the channel of another environment",
    { checks: [check({ channels: ["staging"] })], channels: [staging] },
    "checks.shop.channels.0: is the channel of staging, and the row is of production",
  ],
  [
    "a channel that is named twice",
    { checks: [check({ channels: ["chat", "chat"] })], channels: [chat] },
    "checks.shop.channels.1: is named twice",
  ],
  [
    "two channels of one alert source",
    { checks: [check({ channels: ["chat", "one", "two"] })], channels: [chat, one, two] },
    "checks.shop.channels.2: goes to the same alert source as one: name one of them",
  ],
  [
    "a location that is not there",
    { checks: [check({ locations: ["mars"] })] },
    "checks.shop.locations.0: there is no such location",
  ],
  [
    "a location that is named twice",
    { checks: [check({ locations: ["us-east-1", "us-east-1"] })] },
    "checks.shop.locations.1: is named twice",
  ],
  [
    "a text that cannot be stored",
    { checks: [check({ method: "POST", body: { a: ["\0"] } })] },
    "checks.shop.body.a.0: has a NUL character",
  ],
  [
    "a placeholder of another form",
    { checks: [check({ headers: { a: "x {{api-key}}" } })] },
    "checks.shop.headers.a: between double braces is the name of a secret",
  ],
  [
    "a placeholder that is not closed",
    { checks: [check({ method: "POST", body: { a: ["{{KEY"] } })] },
    "checks.shop.body.a.0: between double braces",
  ],
  [
    "times of a route whose source is no Alertmanager",
    {
      sources: [source],
      routes: [
        {
          ...routeBy({ label: "team" }),
          activeTimes: [{ from: "09:00", until: "17:00", timezone: "UTC" }],
        },
      ],
    },
    "routes.Mails.sources.0.source: is of the kind email: only Alertmanager keeps to activeTimes",
  ],
  [
    "a label of an inhibition that the source does not have",
    {
      sources: [{ ...source, kind: "alertmanager" }],
      routes: [
        {
          ...routeBy({ label: "team" }),
          inhibitedBy: [{ conditions: [{ label: "tem", operation: "is_set" }], equal: [] }],
        },
      ],
    },
    "routes.Mails.inhibitedBy.0.conditions.0.label: mail has no such label: did you mean team?",
  ],
  [
    "a source that is not there",
    { sources: [source], routes: [routeBy({ label: "team" }, "post")] },
    'routes.Mails.sources.0.source: there is no such source; the only one is "mail"',
  ],
  [
    "a label that the source has not",
    { sources: [source], routes: [routeBy({ label: "tem" })] },
    "routes.Mails.sources.0.conditions.0.label: mail has no such label: did you mean team?",
  ],
])("finds %s", (_what, set, line) => {
  const lines = linesOf(set);

  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(line);
});

it("the lint accepts locations of one's own, and secrets anywhere in a request", () => {
  const locations = [{ id: "fra", name: "Frankfurt" }];
  const row = check({ locations: ["fra"], path: "/{{KEY}}", headers: { a: "{{API_KEY}} {{X2}}" } });

  expect(linesOf({ locations, checks: [row] })).toEqual([]);
});

it.each([
  ["identifier", { identifier: "a-{{ROOT_KEY}}" }, "body.identifier: {{ROOT_KEY}}"],
  ["externalId", { externalId: "{{KEY}}" }, "body.externalId: {{KEY}}"],
  ["meta", { meta: { a: [{ b: "{{KEY}}" }] } }, "body.meta.a.0.b: {{KEY}}"],
  ["tags", { key: "{{KEY}}", tags: ["{{KEY}}"] }, "body.tags.0: {{KEY}}"],
  ["namespace", { namespace: "{{ROOT_KEY}}" }, "body.namespace: {{ROOT_KEY}}"],
])("the lint refuses the API's own secret as %s, which the API stores", (_, body, words) => {
  const one = { path: "/v2/ratelimit.limit", method: "POST" as const, body };
  const steps = { kind: "steps", id: "shop", steps: [one] };

  const lines = [linesOf({ checks: [check(one)] }), linesOf({ checks: [CheckRow.parse(steps)] })];

  expect(lines).toEqual([
    [`checks.shop.${words} would be stored there: of a body it may only be the \`key\``],
    [`checks.shop.steps.0.${words} would be stored there: of a body it may only be the \`key\``],
  ]);
});

it("the lint refuses the API's own secret as a user-agent, which the audit log has", () => {
  const row = check({ path: "/v2/liveness", headers: { "User-Agent": "{{ROOT_KEY}}" } });

  expect(linesOf({ checks: [row] })).toEqual([expect.stringContaining("would be stored there")]);
});

it("the lint accepts the API's own secrets as key and credential, and others in any field", () => {
  const headers = { authorization: "Bearer {{ROOT_KEY}}", body: "{{KEY}}" };
  const body = { key: "{{KEY}}", identifier: "{{SHOP_USER}}" };
  const row = check({ path: "/v2/keys.verifyKey", method: "POST", headers, body });

  expect(linesOf({ checks: [row] })).toEqual([]);
});

it("the lint names few of many rows in each finding", () => {
  const channels = Array.from({ length: 25 }, (_, i) =>
    ChannelRow.parse({ id: `c${i}`, kind: "incident" }),
  );

  const [line] = linesOf({ checks: [check({ channels: ["x"] })], channels });

  expect(line).toMatch(/there are c0, c1, .*, c9 and 15 more$/);
});
