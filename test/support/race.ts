/** Round by round both sides start at once; who is sent off first takes turns, so that each side wins some. */
export async function race<Round, Left, Right>(
  all: readonly Round[],
  sidesOf: (round: Round) => readonly [() => Promise<Left>, () => Promise<Right>],
): Promise<readonly (readonly [Left, Right])[]> {
  const ends: (readonly [Left, Right])[] = [];
  for (const [index, round] of all.entries()) {
    const [left, right] = sidesOf(round);
    if (index % 2 === 0) ends.push(await Promise.all([left(), right()]));
    else {
      const second = right();
      ends.push(await Promise.all([left(), second]));
    }
  }
  return ends;
}
