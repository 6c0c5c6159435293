import type { Member } from '../language/entries.ts'
import { cutsOf, type Test } from '../language/operators.ts'
import { testsIn } from '../language/test-parts.ts'
import { literalParts } from '../language/glob.ts'

/** The most programs and words that lines combine. */
const MOST = 40

/** Returns shell lines of the programs and the words that tests name: each alone, in pairs, and with redirections. */
export function linesOf(members: readonly Member<Test>[]): readonly string[] {
  const programs = textsOf(members, (name) => name === 'program')
  const words = textsOf(members, (name) => name !== 'program')
  const commands = programs.flatMap((program) => [program, ...words.map((word) => `${program} ${word}`)])
  return commands.flatMap((command) => [
    command,
    `${command} > x`,
    `${command} < x`,
    ...programs.slice(0, 2).map((program) => `${command} | ${program}`),
  ])
}

function textsOf(
  members: readonly Member<Test>[],
  is: (name: string | number) => boolean,
): readonly string[] {
  const tests = members.filter(({ path: [name = ''] }) => is(name)).flatMap(({ test }) => [...testsIn(test)])
  const texts = tests.flatMap((test) => {
    const { texts: own = [], globs = [] } = cutsOf(test)
    return [...own, ...globs.map((glob) => literalParts(glob).join(''))]
  })
  return ['x', ...new Set(texts)].filter((text) => /^[\w./=-]+$/.test(text)).slice(0, MOST)
}
