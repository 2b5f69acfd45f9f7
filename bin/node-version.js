// Plain JavaScript, because an old Node cannot parse the rest of the program.
const oldest = [24, 0];

/** Says that this Node is too old, and what to do; undefined: it is new enough. */
export function complainOfNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return undefined;
  return (
    `vedette: this is Node ${process.versions.node}, and ${oldest.join(".")} or newer is needed. ` +
    'From the project\'s directory, "npx vedette" and "npm start" take the one that "npm ci" has ' +
    "installed, unless it was told to leave out optional packages.\n"
  );
}
