type Camel<Name> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<Camel<Rest>>}` : Name;

/** A value whose names are those of the library's arguments; what is undefined is left out. */
export type CamelKeys<T> = { [Key in keyof T as Camel<Key & string>]: Exclude<T[Key], undefined> };

/** Names fields as the library names its arguments. Only the outermost ones: what they hold is data. */
export function camelKeys<T extends object>(value: T): CamelKeys<T> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [
        name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        item,
      ]),
  ) as CamelKeys<T>;
}
