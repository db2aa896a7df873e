/** The stores that a world may stand on. */
export const PLACE_KINDS = ['memory', 'sqlite', 'jsonl'] as const;

/** One of {@link PLACE_KINDS}. */
export type PlaceKind = (typeof PLACE_KINDS)[number];
