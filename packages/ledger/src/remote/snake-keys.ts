/** Names arguments as the wire names them; what is undefined is left out. Only the outermost names: what they hold is data. */
export function snakeKeys(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), item]),
  );
}
