/** What an API server keeps: objects by their place, their versions, and who watches them. */

/** As the wire has it; what is below is read where it is known. */
export type KubeObject = {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    managedFields?: ManagedFields[];
    ownerReferences?: {
      apiVersion: string;
      kind: string;
      name: string;
      uid: string;
      controller: boolean;
    }[];
  };
  /** Of a ControllerRevision, as the next one. */
  revision?: number;
  // biome-ignore lint/suspicious/noExplicitAny: as many kinds as Kubernetes has
  data?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  spec?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  status?: any;
};

export type ManagedFields = {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  time: string;
  fieldsType: "FieldsV1";
  fieldsV1: object;
};

export type Place = { resource: string; namespace: string; name: string };

export type WatchEvent = {
  type: "ADDED" | "MODIFIED" | "DELETED";
  resource: string;
  object: KubeObject;
};

export type Objects = ReturnType<typeof createObjects>;

export function createObjects() {
  const kept = new Map<string, KubeObject>();
  const listeners = new Set<(event: WatchEvent) => void>();
  const history: WatchEvent[] = [];
  let version = 1_000;
  const keyOf = ({ resource, namespace, name }: Place) => `${resource}/${namespace}/${name}`;

  const tell = (event: WatchEvent) => {
    history.push(event);
    for (const listener of listeners) listener(event);
  };

  return {
    /** A copy: what is changed in it changes nothing here. */
    get: (place: Place): KubeObject | undefined => structuredClone(kept.get(keyOf(place))),

    /** Those of a namespace; of all if it is "". */
    /** Copies of those that are wanted; of a namespace, or of all when it is "". */
    list: (
      resource: string,
      namespace: string,
      isWanted: (object: KubeObject) => boolean = () => true,
    ): KubeObject[] => {
      const start = namespace === "" ? `${resource}/` : `${resource}/${namespace}/`;
      const found: KubeObject[] = [];
      for (const [key, object] of kept) {
        if (key.startsWith(start) && isWanted(object)) found.push(structuredClone(object));
      }
      return found;
    },

    put(resource: string, object: KubeObject): KubeObject {
      const place = { resource, ...object.metadata };
      const type = kept.has(keyOf(place)) ? "MODIFIED" : "ADDED";
      version++;
      const stored = structuredClone(object);
      stored.metadata.resourceVersion = String(version);
      kept.set(keyOf(place), stored);
      tell({ type, resource, object: structuredClone(stored) });
      return structuredClone(stored);
    },

    remove(place: Place): void {
      const object = kept.get(keyOf(place));
      if (object === undefined) return;
      version++;
      kept.delete(keyOf(place));
      const metadata = { ...object.metadata, resourceVersion: String(version) };
      tell({ type: "DELETED", resource: place.resource, object: { ...object, metadata } });
    },

    version: () => String(version),

    /** The events after a version, then all others until the returned function is called. */
    watch(after: number, listener: (event: WatchEvent) => void): () => void {
      for (const event of history) {
        if (Number(event.object.metadata.resourceVersion) > after) listener(event);
      }
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
