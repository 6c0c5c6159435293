/**
 * Compares the subject that an agent claims with the names of a reviewer. The claim takes away a vote, so the
 * comparison also finds texts that only look like a name.
 */

import { normalForm } from './normal-form.ts'

/** Letters of other alphabets that readers take for these Latin letters. */
const LIKE_LATIN = new Map(
  Object.entries({
    a: 'аαɑ',
    b: 'ьв',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еє',
    g: 'ɡ',
    h: 'һн',
    i: 'іιıӏl1|',
    j: 'јϳ',
    k: 'кκ',
    m: 'м',
    n: 'ոпη',
    o: 'оοօ0σ',
    p: 'рρ',
    q: 'ԛ',
    r: 'г',
    s: 'ѕ',
    t: 'тτ',
    u: 'υսц',
    v: 'νѵ',
    w: 'ԝω',
    x: 'хχ',
    y: 'уγү',
    z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (one) => [one, latin] as const)),
)

/** The text without case, marks, blanks and invisible characters, with Latin letters in place of look-alikes. */
export function folded(text: string): string {
  const plain = (normalForm(text, 'NFKC') ?? text)
    .toLowerCase()
    .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}\p{C}\s]/gu, '')
  return Array.from(plain, (one) => LIKE_LATIN.get(one) ?? one).join('')
}
