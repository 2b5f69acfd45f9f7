import { expect, it } from "vitest";
import { countLines, countSoleImports, findWay } from "../../bench/house.ts";

it("lines of code are neither blank nor comment", () => {
  const text = '/** A\n * comment. */\n// Another.\nconst a = 1; // why\n\nconst b = "x";\n';

  expect(countLines(text)).toEqual({ raw: 6, code: 2 });
});

it("a file that another imports twice has one importer", () => {
  const imports = [
    { from: "src/a.ts", to: "src/x.ts" },
    { from: "src/a.ts", to: "src/x.ts" },
    { from: "src/a.ts", to: "src/y.ts" },
    { from: "src/b.ts", to: "src/y.ts" },
  ];

  expect(countSoleImports(imports)).toBe(1);
});

it("an image's way has what its doors reach and speaks of images, and no contract", () => {
  const reached = [
    "src/rollout/a.ts",
    "src/fleet/b.ts",
    "src/fleet/contract.ts",
    "src/rollout/c.ts",
  ];
  const imports = [
    { from: "src/rollout/object.ts", to: "src/rollout/a.ts" },
    { from: "src/rollout/a.ts", to: "src/fleet/b.ts" },
    { from: "src/rollout/a.ts", to: "src/fleet/contract.ts" },
    { from: "src/rollout/a.ts", to: "src/rollout/c.ts" },
  ];
  const sources = [
    ...reached.map((file) => ({ file, text: "const image = 1;" })),
    { file: "src/rollout/unreached.ts", text: "const image = 1;" },
  ].map((one) =>
    one.file === "src/rollout/c.ts" ? { ...one, text: "// image\nconst n = 1;" } : one,
  );

  expect(findWay(sources, imports)).toEqual(["src/rollout/a.ts", "src/fleet/b.ts"]);
});
