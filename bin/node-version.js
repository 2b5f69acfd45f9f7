// Plain JavaScript, because an old Node cannot parse the rest of the program.

/** The first Node that reads TypeScript without a flag, as the sources and a vedette.config.ts are. */
const oldest = [22, 18];
/** Its own first one: it is newer by its number, but began before that. */
const oldestOf23 = [23, 6];

/** Says that this Node is too old, and what to do; undefined: it is new enough. */
export function complainOfNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = major === 23 ? oldestOf23 : oldest;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return undefined;
  return (
    `vedette: this is Node ${process.versions.node}, and ${wantedMajor}.${wantedMinor} or newer is needed. ` +
    `${import.meta.url.includes("/node_modules/") ? ofPackage : ofCheckout}\n`
  );
}

const ofCheckout =
  'In a checkout, "npx vedette" and "npm start" take the one that "npm ci" has installed, unless it was told ' +
  "to leave out optional packages.";
const ofPackage =
  'Install a newer Node, or run "npm install node@26" in this project: "npx vedette" takes that one.';
