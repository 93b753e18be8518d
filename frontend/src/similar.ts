// A word that is like another one, by the rule of Python's `difflib.get_close_matches`, which `wifimgrctl` uses.

const CUTOFF = 0.6;

/** How much two words have in common, in order, from 0 to 1 (Ratcliff and Obershelp). */
const ratio = (one: string, other: string): number => (2 * common(one, other)) / (one.length + other.length || 1);

/** The letters of the longest common part, and of what lies before and behind it on both sides. */
function common(one: string, other: string): number {
  let [size, at, there] = [0, 0, 0];
  for (let from = 0; from < one.length; from += 1) {
    for (let to = 0; to < other.length; to += 1) {
      let length = 0;
      while (from + length < one.length && one[from + length] === other[to + length]) length += 1;
      if (length > size) [size, at, there] = [length, from, to];
    }
  }
  if (size === 0) return 0;
  return size + common(one.slice(0, at), other.slice(0, there)) + common(one.slice(at + size), other.slice(there + size));
}

/** The closest of some words; undefined if none is close. */
export const similar = (wanted: string, words: readonly string[]): string | undefined => nearest(wanted, words, CUTOFF);

/** The closest of some words, however far it is. */
export function nearest(wanted: string, words: readonly string[], cutoff = 0): string | undefined {
  const scored = words.map((word) => ({ word, score: ratio(word, wanted.toLowerCase()) })).filter((one) => one.score >= cutoff);
  return scored.sort((one, other) => other.score - one.score || (one.word < other.word ? 1 : -1))[0]?.word;
}
