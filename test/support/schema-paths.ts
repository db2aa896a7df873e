import { z } from 'zod';

/**
 * Paths of all fields that a schema names, in its order: `tasks[].audit.unreconciled`. Fields whose inside is free
 * (records, any JSON) are leaves.
 */
export function schemaPaths(schema: z.ZodType): readonly string[] {
  return [...new Set(pathsUnder(schema, ''))];
}

function pathsUnder(schema: z.ZodType, prefix: string): readonly string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodUnion)
    return inner.options.flatMap((option) => pathsUnder(option as z.ZodType, prefix));
  if (inner instanceof z.ZodArray) return pathsUnder(inner.element as z.ZodType, `${prefix}[]`);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    return [path, ...pathsUnder(field, path)];
  });
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema;
}
