import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import { yamlOptions } from "#definitions/file/formats/yaml.ts";
import { type AddRow, NoPlace, withoutKey } from "./new-row.ts";

/** Keeps comments, anchors and the order; spaces within a line may become fewer. */
export const addToYaml: AddRow = ({ text }, added) => {
  const { section, row } = added;
  const document = parseDocument(text, yamlOptions);
  const held = document.get(section, true);
  if (isSeq(held)) {
    if (held.items.length === 0) held.flow = false;
    held.add(document.createNode(row));
  } else if (isMap(held)) {
    const { key, rest } = withoutKey(added);
    if (held.items.length === 0) held.flow = false;
    held.set(key, document.createNode(rest));
  } else if (held === undefined || (isScalar(held) && held.value === null)) {
    document.set(section, document.createNode([row]));
  } else {
    throw new NoPlace();
  }
  return document.toString({ lineWidth: 0, indentSeq: !/^( *)\S.*:[ \t]*\r?\n\1- /m.test(text) });
};
