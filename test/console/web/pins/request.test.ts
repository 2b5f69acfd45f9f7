import { describe, expect, it } from "vitest";
import { faultsOf, ownPaths } from "#console/web/parts/fields.ts";
import { type PinFields, toPin } from "#console/web/rows/pins.ts";
import { parseBody } from "#kernel/faults.ts";
import { Pin, pinHandlers } from "#rollout/choice/contract.ts";

const reason = "a memory leak is looked at there";

const plain: PinFields = {
  id: "debug-gw-7",
  ids: "gw-7",
  regions: "",
  labels: "",
  ends: "",
  reason,
};

/** What the form says at which field. */
function faultsFor(fields: Partial<PinFields>) {
  return faultsOf(refusedBy({ ...plain, ...fields }), ownPaths(plain));
}

function refusedBy(fields: PinFields): string {
  try {
    parseBody(pinHandlers.Add.input, toPin(fields));
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("the pin of the form", () => {
  it.each<[Partial<PinFields>, object]>([
    [{}, { ids: ["gw-7"] }],
    [{ id: " debug-gw-7 ", ids: " gw-8 ,gw-7" }, { ids: ["gw-8", "gw-7"] }],
    [{ ids: "", regions: "eu, us" }, { regions: ["eu", "us"] }],
    [{ ids: "", labels: "tier=canary" }, { labels: { tier: "canary" } }],
    [
      { ids: "", regions: "eu", labels: "kernel=5, tier=canary" },
      { regions: ["eu"], labels: { kernel: "5", tier: "canary" } },
    ],
    [{ ends: "2027-12-20T00:00" }, { ids: ["gw-7"], ends: new Date(2027, 11, 20).toISOString() }],
  ])("of %j has %j", (fields, wanted) => {
    const pin = toPin({ ...plain, ...fields });

    expect(pin).toEqual({ id: "debug-gw-7", reason, ...wanted });
    expect(Pin.safeParse(pin).success).toBe(true);
  });
});

describe("a refusal", () => {
  it.each<[Partial<PinFields>, keyof PinFields]>([
    [{ id: "Debug gw 7" }, "id"],
    [{ ids: "" }, "ids"],
    [{ ids: "gw-7, gw-7" }, "ids"],
    [{ ids: "x".repeat(342) }, "ids"],
    [{ regions: "," }, "regions"],
    [{ labels: "tier" }, "labels"],
    [{ labels: "a b=1" }, "labels"],
    [{ reason: " " }, "reason"],
  ])("of %j is said at the field %s alone", (fields, name) => {
    const faults = faultsFor(fields);

    expect(Object.keys(faults.fields)).toEqual([name]);
    expect(faults.rest).toBe("");
  });
});
