/** The namespace `apis`: APIs, to which keys belong. */
import type { ApisParts } from "#api/parts.ts";
import type { Procedures } from "#api/procedure.ts";
import { createApi } from "./create-api.ts";
import { deleteApi } from "./delete-api.ts";
import { getApi } from "./get-api.ts";
import { listKeys } from "./list-keys.ts";

export function apisProcedures(parts: ApisParts): Procedures {
  return {
    createApi: createApi(parts),
    getApi: getApi(parts),
    listKeys: listKeys(parts),
    deleteApi: deleteApi(parts),
  };
}
